// Writes down which OpenAPI document the types were made of, so that a test
// without Node can tell that they are those of the document in the repository.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const document = readFileSync(new URL("../../internal/api/openapi.json", import.meta.url));
const digest = createHash("sha256").update(document).digest("hex");
writeFileSync(new URL("../src/api/generated/openapi.sha256", import.meta.url), digest + "\n");
