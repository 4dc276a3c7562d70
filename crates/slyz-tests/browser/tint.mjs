// What Chrome's WGSL compiler, Tint, says about files:
//
//     node tint.mjs [--list FILE] FILES…
//
// One line of JSON for each, `{"file": …, "errors": [{"line": …, "column": …, "message": …}]}`; status 1 where there is an error.
// `--list` names a file with the names of more files, line by line, for more of them than a command line holds.

import { readFile } from "node:fs/promises";
import { withBrowser, withPage } from "./browser.mjs";

/** So many files are sent to the page at a time. */
const BATCH = 64;

/** Runs in the page. */
async function compile(texts) {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) throw new Error("this browser has no WebGPU adapter");
  const device = await adapter.requestDevice({ requiredFeatures: [...adapter.features] });
  const found = [];
  for (const code of texts) {
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code });
    const { messages } = await module.getCompilationInfo();
    const refused = await device.popErrorScope();
    const errors = messages
      .filter((message) => message.type === "error")
      .map(({ lineNum, linePos, message }) => ({ line: lineNum, column: linePos, message }));
    if (refused && errors.length === 0) errors.push({ line: 0, column: 0, message: refused.message });
    found.push(errors);
  }
  device.destroy();
  return found;
}

/** Prints what is wrong with files; 1 where something is. */
async function tell(page, files) {
  let wrong = 0;
  for (let start = 0; start < files.length; start += BATCH) {
    const names = files.slice(start, start + BATCH);
    const texts = await Promise.all(names.map((name) => readFile(name, "utf8")));
    const found = await page.evaluate(compile, texts);
    found.forEach((errors, k) => {
      wrong += errors.length > 0;
      console.log(JSON.stringify({ file: names[k], errors }));
    });
  }
  return wrong > 0 ? 1 : 0;
}

async function main(args) {
  const files = [...args];
  if (files[0] === "--list") {
    const [, list] = files.splice(0, 2);
    files.push(...(await readFile(list, "utf8")).split("\n").filter((name) => name !== ""));
  }
  return withBrowser((browser) =>
    withPage(browser, null, async (page, address) => {
      await page.goto(address);
      return tell(page, files);
    }),
  );
}

process.exitCode = await main(process.argv.slice(2));
