// Opens pages that `slyz build --target web` wrote, and waits for what they say:
//
//     node page.mjs [--picture FILE.png] FOLDERS…
//
// One line of JSON for each, `{"folder": …, "result": …, "verdict": …, "rows": [[kernel, outcome, result, time]]}`; status 1 where
// a case fails. `--picture` shows all pictures and keeps one of the first page.

import { withBrowser, withPage } from "./browser.mjs";

/** How long a page may take. */
const PATIENCE = 120_000;

async function look(browser, folder, picture) {
  return withPage(browser, folder, async (page, address) => {
    const messages = [];
    page.on("console", (message) => messages.push(message.text()));
    page.on("pageerror", (error) => messages.push(String(error)));
    await page.goto(picture ? `${address}?pictures` : address);
    await page.waitForFunction(() => document.body.dataset.result, null, { timeout: PATIENCE }).catch(() => {});
    if (picture) await page.screenshot({ path: picture, fullPage: true });
    const said = await page.evaluate(() => ({
      result: document.body.dataset.result ?? "silent",
      verdict: document.querySelector("#verdict").textContent,
      rows: [...document.querySelectorAll("tbody tr")].map((row) => {
        const [kernel, result, time] = [...row.cells].map((cell) => cell.textContent);
        return [kernel, row.className, result, time];
      }),
    }));
    return { folder, ...said, messages };
  });
}

async function main(args) {
  const folders = [...args];
  const picture = folders[0] === "--picture" ? folders.splice(0, 2)[1] : null;
  return withBrowser(async (browser) => {
    let failed = false;
    for (const [k, folder] of folders.entries()) {
      const said = await look(browser, folder, k === 0 ? picture : null);
      failed ||= said.result !== "passed";
      console.log(JSON.stringify(said));
    }
    return failed ? 1 : 0;
  });
}

process.exitCode = await main(process.argv.slice(2));
