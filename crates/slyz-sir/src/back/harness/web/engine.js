// Runs kernels with WebGPU: the device, what one call makes on it, and what is checked before.

/** Something that the caller can mend: a wrong argument, or a browser without WebGPU. */
export class KernelError extends Error {
  name = "KernelError";
}

/** The most positions of an array that kernels count. */
const MAX_POSITIONS = 2 ** 30;

/** Limits that are asked for as high as the adapter has them; all others are those of every device. */
const LIMITS = ["maxBufferSize", "maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage"];

/**
 * A kernel: a WGSL file beside this one, the function in it, and the kinds of its bindings in group 0, in order.
 * @typedef {{ file: string, entry: string, bindings: GPUBufferBindingType[] }} Kernel
 */

/** @type {Promise<GPUDevice> | null} */
let sharedDevice = null;

/** @type {Map<Kernel, Promise<GPUComputePipeline>>} */
const pipelines = new Map();

/**
 * The device of this page, which is made at the first call.
 * @returns {Promise<GPUDevice>}
 */
export function device() {
  sharedDevice ??= requestDevice();
  return sharedDevice;
}

async function requestDevice() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) {
    sharedDevice = null;
    throw new KernelError(
      "This browser has no WebGPU. Use a recent Chrome, Edge, Safari or Firefox, and open the page from https or localhost.",
    );
  }
  const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]));
  const requiredFeatures = [...adapter.features].filter((name) => name === "subgroups");
  const made = await adapter.requestDevice({ requiredLimits, requiredFeatures });
  made.lost.then(() => {
    sharedDevice = null;
    pipelines.clear();
  });
  return made;
}

/**
 * @param {GPUDevice} device
 * @param {Kernel} kernel
 * @returns {Promise<GPUComputePipeline>}
 */
function pipeline(device, kernel) {
  if (!pipelines.has(kernel)) pipelines.set(kernel, makePipeline(device, kernel));
  return pipelines.get(kernel);
}

async function makePipeline(device, { file, entry, bindings }) {
  const arrays = bindings.filter((type) => type !== "uniform").length;
  const { maxStorageBuffersPerShaderStage: most } = device.limits;
  if (arrays > most) {
    throw new KernelError(
      `${file} works on ${arrays} arrays at once, and a kernel of this device on ${most} at most; use another GPU, or split the function`,
    );
  }
  const response = await fetch(new URL(file, import.meta.url));
  if (!response.ok) throw new KernelError(`${file} is not beside this page; use the files that were written together`);
  const module = device.createShaderModule({ label: file, code: await response.text() });
  const entries = bindings.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } }));
  const group = device.createBindGroupLayout({ label: file, entries });
  const layout = device.createPipelineLayout({ bindGroupLayouts: [group] });
  return device.createComputePipelineAsync({ label: file, layout, compute: { module, entryPoint: entry } });
}

/** What one call makes on the device: its buffers, and launches that run one after the other. */
class Session {
  /** @type {GPUBuffer[]} */
  #buffers = [];
  /** @type {GPUCommandEncoder | null} */
  #commands = null;

  /** @param {GPUDevice} device */
  constructor(device) {
    this.device = device;
  }

  #buffer(bytes, usage, mappedAtCreation = false) {
    // There are no empty bindings, and kernels may read 16 bytes at a time.
    const size = Math.max(16, Math.ceil(bytes / 16) * 16);
    const { maxStorageBufferBindingSize: most } = this.device.limits;
    if (size > most) throw new KernelError(`an array of ${bytes} bytes is too large for this device, which has ${most}`);
    const buffer = this.device.createBuffer({ size, usage, mappedAtCreation });
    this.#buffers.push(buffer);
    return buffer;
  }

  #filled(data, usage) {
    const buffer = this.#buffer(data.byteLength, usage, true);
    new Uint8Array(buffer.getMappedRange()).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    buffer.unmap();
    return buffer;
  }

  /** A buffer that holds what an array does. */
  upload(data) {
    return this.#filled(data, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
  }

  /** A buffer of zeros. */
  allocate(bytes) {
    return this.#buffer(bytes, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
  }

  /**
   * Runs a kernel.
   * @param {Kernel} kernel
   * @param {GPUBuffer[]} buffers In the order of the bindings.
   * @param {number[]} words What the uniform holds, in words of 32 bits.
   * @param {number[]} groups Workgroups in x, y and z.
   */
  async launch(kernel, buffers, words, groups) {
    if (groups.includes(0)) return;
    const most = this.device.limits.maxComputeWorkgroupsPerDimension;
    if (Math.max(...groups) > most) {
      throw new KernelError(`${kernel.file}: ${groups} workgroups are more than the ${most} of this device; pass less`);
    }
    const made = await pipeline(this.device, kernel);
    const bound = [...buffers];
    const uniform = kernel.bindings.indexOf("uniform");
    if (uniform >= 0) bound.splice(uniform, 0, this.#filled(Uint32Array.from(words), GPUBufferUsage.UNIFORM));
    const entries = bound.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = this.device.createBindGroup({ layout: made.getBindGroupLayout(0), entries });
    this.#commands ??= this.device.createCommandEncoder();
    const pass = this.#commands.beginComputePass();
    pass.setPipeline(made);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(...groups);
    pass.end();
  }

  /**
   * Waits for what was launched, and gives elements of a buffer.
   * @template T
   * @param {GPUBuffer} buffer
   * @param {{ new (data: ArrayBuffer, offset: number, count: number): T, BYTES_PER_ELEMENT: number }} type
   * @param {number} count
   * @returns {Promise<T>}
   */
  async read(buffer, type, count) {
    const copy = this.#buffer(buffer.size, GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ);
    const commands = this.#commands ?? this.device.createCommandEncoder();
    this.#commands = null;
    commands.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size);
    this.device.queue.submit([commands.finish()]);
    await copy.mapAsync(GPUMapMode.READ);
    const bytes = copy.getMappedRange().slice(0, count * type.BYTES_PER_ELEMENT);
    copy.unmap();
    return new type(bytes, 0, count);
  }

  /** The elements of a buffer, into the array that it was made of. */
  async readInto(buffer, array) {
    array.set(await this.read(buffer, array.constructor, array.length));
  }

  /** The whole number that a buffer holds; kernels count in 32 bits. */
  async count(buffer) {
    return (await this.read(buffer, Int32Array, 1))[0];
  }

  /** The truth value that a buffer holds. */
  async holds(buffer) {
    return (await this.read(buffer, Uint8Array, 1))[0] !== 0;
  }

  /** Throws where a kernel has told that it went outside of an array. */
  async noFaults(kernel, buffer, arrays) {
    const words = await this.read(buffer, Int32Array, 16);
    if (words[0] === 0) return;
    const { name, axes } = arrays[words[0] - 1] ?? { name: "?", axes: 0 };
    const index = Array.from({ length: axes }, (_, d) => words[7 + 2 * d]);
    throw new KernelError(
      `${kernel}: ${name}[${index.join(", ")}] is out of bounds in thread (${[words[1], words[3], words[5]].join(", ")}); ` +
        "that access read and wrote nothing. Guard it with an `if`, or launch fewer threads",
    );
  }

  end() {
    for (const buffer of this.#buffers) buffer.destroy();
  }
}

/** Calls wait for each other: the device tells its errors to one at a time. */
let turn = Promise.resolve();

/**
 * Does the work of one call, and frees what it made.
 * @template T
 * @param {string} name
 * @param {(session: Session) => Promise<T>} work
 * @returns {Promise<T>}
 */
export function call(name, work) {
  const result = turn.then(() => alone(name, work));
  turn = result.catch(() => {});
  return result;
}

async function alone(name, work) {
  const made = await device();
  const session = new Session(made);
  const kinds = ["validation", "out-of-memory", "internal"];
  for (const kind of kinds) made.pushErrorScope(kind);
  const outcome = await work(session).then(
    (value) => ({ value }),
    (error) => ({ error }),
  );
  const told = await Promise.all(kinds.map(() => made.popErrorScope()));
  session.end();
  const wrong = told.find((error) => error);
  if (wrong) throw new Error(`${name}: the device refused: ${wrong.message}`);
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

/** The product of two sizes. */
export function times(a, b) {
  const product = a * b;
  if (!Number.isSafeInteger(product)) throw new KernelError(`the size ${a} * ${b} is too large`);
  return product;
}

/** The number of positions of a shape; no more than kernels count. */
export function positions(kernel, what, shape) {
  const count = shape.reduce(times, 1);
  if (count > MAX_POSITIONS) {
    throw new KernelError(`${kernel}: ${what} has ${count} positions, kernels count to ${MAX_POSITIONS}; pass a smaller array`);
  }
  return count;
}

/** A size must be a whole number that kernels can count to. */
export function axis(kernel, name, size) {
  if (!Number.isInteger(size) || size < 0) {
    throw new KernelError(`${kernel}: the size ${name} must be a whole number and not negative, but is ${size}`);
  }
  positions(kernel, `an axis ${name}`, [size]);
}

/** An argument must be a typed array of that type. */
export function array(kernel, name, value, type) {
  if (value instanceof type) return;
  throw new KernelError(`${kernel}: ${name} must be a ${type.name}, but is ${value?.constructor?.name ?? value}`);
}

/** A typed array must have as many elements as its shape has positions. */
export function expect(kernel, name, value, count) {
  if (value.length === count) return;
  throw new KernelError(`${kernel}: ${name} has ${value.length} elements, its shape needs ${count}`);
}

/** What a program asks of its sizes. */
export function require(holds, kernel, what) {
  if (!holds) throw new KernelError(`${kernel}: ${what} does not hold`);
}

/** Threads in x, y and z, of a number or a list of up to three. */
export function triple(kernel, threads) {
  const [x, y = 1, z = 1] = [threads].flat();
  axis(kernel, "threads in x", x);
  axis(kernel, "threads in y", y);
  axis(kernel, "threads in z", z);
  return [x, y, z];
}

/** How a value stands in a word of the uniform. */
export const word = {
  bool: (value) => (value ? 1 : 0),
  i8: (value) => value & 0xff,
  u8: (value) => value & 0xff,
  i16: (value) => value & 0xffff,
  u16: (value) => value & 0xffff,
  i32: (value) => value >>> 0,
  u32: (value) => value >>> 0,
  f16: (value) => new Uint16Array(Float16Array.of(value).buffer)[0],
  bf16: (value) => bf16(value),
  f32: (value) => new Uint32Array(Float32Array.of(value).buffer)[0],
};

/** The upper half of an f32, rounded to the nearest; arrays of bf16 are a Uint16Array of these. */
export function bf16(value) {
  const bits = word.f32(value);
  return Number.isNaN(value) ? 0x7fc0 : ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

/** The number that the upper half of an f32 stands for. */
export function fromBf16(bits) {
  return new Float32Array(Uint32Array.of(bits << 16).buffer)[0];
}
