// Starts a headless Chromium whose WebGPU runs on the CPU (SwiftShader), and opens pages of a folder in it.
//
// `.ci/browser target/browser` installs what this needs; SLYZ_BROWSER names another folder, SLYZ_CHROMIUM another Chromium.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = process.env.SLYZ_BROWSER ?? join(here, "../../../target/browser");
const chromiumPath = process.env.SLYZ_CHROMIUM ?? "/usr/bin/chromium";

const FLAGS = [
  "--no-sandbox",
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".wgsl": "text/plain",
};

/**
 * Serves the files of a folder on a free port of this machine. WebGPU wants a page from https or localhost.
 * @param {string | null} root Without one, every address is an empty page.
 */
async function serve(root) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    if (root === null) {
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<!doctype html>");
      return;
    }
    try {
      const name = path.endsWith("/") ? `${path}index.html` : path;
      const body = await readFile(join(root, name));
      response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "application/octet-stream" });
      response.end(body);
    } catch {
      response.writeHead(404);
      response.end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/**
 * Calls `work` with a browser, and closes it afterwards.
 * @template T
 * @param {(browser: object) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withBrowser(work) {
  const entry = pathToFileURL(join(folder, "playwright-core/index.mjs"));
  const { chromium } = await import(entry.href);
  const browser = await chromium.launch({ executablePath: chromiumPath, headless: true, args: FLAGS });
  try {
    return await work(browser);
  } finally {
    await browser.close();
  }
}

/**
 * Calls `work` with a new page, and the address of a folder.
 * @template T
 * @param {object} browser
 * @param {string | null} root
 * @param {(page: object, address: string) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withPage(browser, root, work) {
  const server = await serve(root);
  const page = await browser.newPage();
  try {
    return await work(page, `http://localhost:${server.address().port}/`);
  } finally {
    await page.close();
    server.close();
  }
}
