// Files that are attached to a message: pictures and texts, read in the
// browser.

import type { Attachment } from "../api/types";

const largest = 10 << 20;

export async function readFiles(files: Iterable<File>): Promise<{ read: Attachment[]; refused: string[] }> {
  const read: Attachment[] = [];
  const refused: string[] = [];
  // The browser empties its list once the event that brought it is over.
  for (const file of [...files]) {
    if (file.size === 0 || file.size > largest) refused.push(`${file.name} is ${file.size === 0 ? "empty" : "larger than 10 MB"}.`);
    else read.push({ name: file.name || "picture.png", mediaType: file.type || "text/plain", data: await base64(file) });
  }
  return { read, refused };
}

function base64(file: File): Promise<string> {
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => fail(reader.error ?? new Error("The file could not be read."));
    reader.readAsDataURL(file);
  });
}
