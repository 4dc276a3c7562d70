// Opens pages that `slyz build --target web` wrote, and waits for what they say:
//
//     node page.mjs [OPTIONS] FOLDERS…
//
// One line of JSON for each, `{"folder": …, "result": …, "verdict": …, "rows": [[kernel, outcome, result, time]]}`; status 1 where
// a case fails.
//
//     --picture FILE.png   show all pictures, and keep one of the page
//     --without-webgpu     as in a browser that has none
//     --call EXPRESSION    call a function of kernels.js, `kernels`, and add what it gives or throws as `called`

import { parseArgs } from "node:util";
import { withBrowser, withPage } from "./browser.mjs";

/** How long a page may take. */
const PATIENCE = 120_000;

/** Runs in the page. */
function whatIsSaid() {
  return {
    result: document.body.dataset.result ?? "silent",
    verdict: document.querySelector("#verdict").textContent,
    rows: [...document.querySelectorAll("tbody tr")].map((row) => {
      const [kernel, result, time] = [...row.cells].map((cell) => cell.textContent);
      return [kernel, row.className, result, time];
    }),
  };
}

/** Runs in the page. */
async function called(expression) {
  const kernels = await import(new URL("kernels.js", location.href).href);
  try {
    return String(await new Function("kernels", `return ${expression};`)(kernels));
  } catch (error) {
    return String(error);
  }
}

async function look(browser, folder, options) {
  return withPage(browser, folder, async (page, address) => {
    const messages = [];
    page.on("console", (message) => messages.push(message.text()));
    page.on("pageerror", (error) => messages.push(String(error)));
    if (options["without-webgpu"]) {
      await page.addInitScript(() => Object.defineProperty(Navigator.prototype, "gpu", { value: undefined }));
    }
    await page.goto(options.picture ? `${address}?pictures` : address);
    await page.waitForFunction(() => document.body.dataset.result, null, { timeout: PATIENCE }).catch(() => {});
    if (options.picture) await page.screenshot({ path: options.picture, fullPage: true });
    const said = await page.evaluate(whatIsSaid);
    if (options.call) said.called = await page.evaluate(called, options.call);
    return { folder, ...said, messages };
  });
}

async function main(args) {
  const options = { picture: { type: "string" }, "without-webgpu": { type: "boolean" }, call: { type: "string" } };
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  let failed = false;
  for (const folder of positionals) {
    // A browser for each: kernels that take long to compile hold up all pages of a browser.
    const said = await withBrowser((browser) => look(browser, folder, values));
    failed ||= said.result !== "passed";
    console.log(JSON.stringify(said));
  }
  return failed ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
