// Runs the cases, and shows a table of them: what was run, whether it is right, how long it took, and pictures.
//
// Results of rank 3 whose last axis is 3 or 4 bytes are shown as pictures; with `?pictures` those of rank 2 are, too, in shades
// of gray. `document.body.dataset.result` says at the end how it went: passed, failed, or unsupported.

import { cases } from "./cases.js";
import { device, fromBf16 } from "./engine.js";

const rows = document.querySelector("tbody");
const verdict = document.querySelector("#verdict");
const allPictures = new URLSearchParams(location.search).has("pictures");

/** An element as a number. */
function number(type, value) {
  return type === "bf16" ? fromBf16(value) : Number(value);
}

/** What is wrong with a result, or null, and how far it is off. */
function compare(found, { type, count, stride, tolerance, values }) {
  const elements = ArrayBuffer.isView(found) ? Array.from(found, (value) => number(type, value)) : [Number(found)];
  if (elements.length !== count) return { wrong: `${elements.length} elements, expected ${count}`, off: NaN };
  let off = 0;
  let wrong = null;
  values.forEach((value, k) => {
    const a = elements[k * stride];
    const b = number(type, value);
    if (Object.is(a, b) || a === b) return;
    const error = Math.abs(a - b);
    if (!(error <= off)) off = error;
    if (!(error <= tolerance * Math.max(1, Math.abs(b)))) wrong ??= `element ${k * stride} is ${a}, expected ${b}`;
  });
  return { wrong, off };
}

/** Does a result look like a picture? */
function isPicture({ type, shape }) {
  if (shape.length === 3 && type === "u8") return shape[2] === 3 || shape[2] === 4;
  return allPictures && shape.length === 2;
}

/** A result as a canvas, one pixel for each position of its first two axes. */
function draw(elements, { type, shape: [height, width, channels = 1] }) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  if (width === 0 || height === 0) return canvas;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const numbers = Array.from(elements, (value) => number(type, value));
  const finite = numbers.filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const shade = (value) => (channels > 1 ? value : (255 * (value - low)) / (high - low || 1));
  for (let pixel = 0; pixel < width * height; pixel++) {
    for (let channel = 0; channel < 3; channel++) {
      const from = channels === 1 ? pixel : pixel * channels + channel;
      image.data[pixel * 4 + channel] = shade(numbers[from]);
    }
    image.data[pixel * 4 + 3] = channels === 4 ? numbers[pixel * 4 + 3] : 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function show(name, outcome, text, time, pictures = []) {
  const row = rows.insertRow();
  row.className = outcome;
  row.insertCell().textContent = name;
  row.insertCell().textContent = text;
  row.insertCell().textContent = time;
  row.insertCell().append(...pictures);
}

/** Runs a case twice, for the first call compiles its kernels; true where it is right. */
async function check({ name, run, expected }) {
  if (!run) {
    show(name, "skipped", "not compared: too large, not defined on simple inputs, or never launched", "");
    return true;
  }
  try {
    await run();
    const start = performance.now();
    const results = await run();
    const time = `${(performance.now() - start).toFixed(2)} ms`;
    const found = expected.map((wanted, k) => compare(results[k], wanted));
    const wrong = found.find((one) => one.wrong)?.wrong;
    const pictures = expected.flatMap((wanted, k) => (isPicture(wanted) ? [draw(results[k], wanted)] : []));
    const off = Math.max(0, ...found.map((one) => one.off));
    const right = off === 0 ? "ok" : `ok, off by at most ${off.toPrecision(2)}`;
    show(name, wrong ? "wrong" : "right", wrong ?? right, time, pictures);
    return !wrong;
  } catch (error) {
    show(name, "wrong", String(error.message ?? error), "");
    return false;
  }
}

function end(result, text) {
  verdict.textContent = text;
  document.body.dataset.result = result;
}

async function main() {
  try {
    await device();
  } catch (error) {
    end("unsupported", error.message);
    return;
  }
  let failed = 0;
  for (const one of cases) failed += (await check(one)) ? 0 : 1;
  if (failed > 0) end("failed", `${failed} of ${cases.length} cases fail.`);
  else end("passed", `${cases.length} of ${cases.length} cases pass.`);
}

await main();
