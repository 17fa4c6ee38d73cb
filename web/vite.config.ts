// How the page is built: into internal/web/dist, which is committed and
// embedded, so that Go alone builds the binary. In development the API is
// reached through a proxy, at CADRE_SERVER or where cadre serve listens.

/// <reference types="vitest/config" />
import react from "@vitejs/plugin-react";
import tailwind from "@tailwindcss/vite";
import { defineConfig } from "vite";

declare const process: { env: Record<string, string | undefined> };

const server = process.env["CADRE_SERVER"] ?? "http://127.0.0.1:7777";

export default defineConfig({
  plugins: [react(), tailwind()],
  build: {
    outDir: "../internal/web/dist",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    sourcemap: false,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
  },
  server: { port: 7791, proxy: { "/v1": server, "/openapi.json": server } },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], environment: "node" },
});
