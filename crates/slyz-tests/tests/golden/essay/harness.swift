import Foundation
import Metal

/// The most positions of an array that kernels count.
let maxPositions = 2147483647

/// May Metal's compiler contract, reorder and leave NaNs out of account?
let fastMath = true

func metalSources() throws -> [String] {
    return try ["kernels.metal"].map { try String(contentsOfFile: $0, encoding: .utf8) }
}

/// What can go wrong between arrays and results.
enum HarnessError: Error, CustomStringConvertible {
    case noDevice
    case noKernel(String)
    case outOfMemory(bytes: Int)
    case wrongCount(kernel: String, array: String, expected: Int, found: Int)
    case tooLarge(kernel: String, array: String)
    case requirement(kernel: String, what: String)
    case blockTooLarge(kernel: String, threads: Int, limit: Int)
    case simdWidth(kernel: String, expected: Int, found: Int)
    case sharedMemory(kernel: String, bytes: Int, limit: Int)
    case failed(String)

    var description: String {
        switch self {
        case .noDevice:
            return "this machine has no Metal device"
        case .noKernel(let name):
            return "the Metal source has no kernel \(name); use the two files that were written together"
        case .outOfMemory(let bytes):
            return "no buffer of \(bytes) bytes can be had; pass smaller arrays"
        case .wrongCount(let kernel, let array, let expected, let found):
            return "\(kernel): \(array) has \(found) elements, its shape needs \(expected)"
        case .tooLarge(let kernel, let array):
            return "\(kernel): \(array) has more positions than the kernel counts; pass a smaller array"
        case .requirement(let kernel, let what):
            return "\(kernel): \(what) does not hold"
        case .blockTooLarge(let kernel, let threads, let limit):
            return "\(kernel): needs threadgroups of \(threads), this device allows \(limit)"
        case .simdWidth(let kernel, let expected, let found):
            return "\(kernel): needs simd-groups of \(expected), this device has \(found)"
        case .sharedMemory(let kernel, let bytes, let limit):
            return "\(kernel): needs \(bytes) bytes of threadgroup memory, this device has \(limit)"
        case .failed(let what):
            return "the device failed: \(what)"
        }
    }
}

/// The device, its queue, the kernels, and a pipeline state for each that has run.
final class Engine {
    let device: MTLDevice
    let queue: MTLCommandQueue
    private let libraries: [MTLLibrary]
    private var pipelines: [String: MTLComputePipelineState] = [:]
    /// Time on the device since it was last set.
    var seconds = 0.0

    private static var made: Engine?

    static func shared() throws -> Engine {
        if let made = made { return made }
        let engine = try Engine()
        made = engine
        return engine
    }

    private init() throws {
        guard let device = MTLCreateSystemDefaultDevice(), let queue = device.makeCommandQueue() else {
            throw HarnessError.noDevice
        }
        let options = MTLCompileOptions()
        options.fastMathEnabled = fastMath
        self.device = device
        self.queue = queue
        self.libraries = try metalSources().map { try device.makeLibrary(source: $0, options: options) }
    }

    func pipeline(_ name: String) throws -> MTLComputePipelineState {
        if let known = pipelines[name] { return known }
        guard let function = libraries.lazy.compactMap({ $0.makeFunction(name: name) }).first else {
            throw HarnessError.noKernel(name)
        }
        let state = try device.makeComputePipelineState(function: function)
        pipelines[name] = state
        return state
    }

    func buffer<T>(_ data: [T]) throws -> MTLBuffer {
        let buffer = try self.buffer(bytes: data.count * MemoryLayout<T>.stride)
        data.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { buffer.contents().copyMemory(from: start, byteCount: bytes.count) }
        }
        return buffer
    }

    func buffer(bytes: Int) throws -> MTLBuffer {
        // Metal has no empty buffers.
        guard let buffer = device.makeBuffer(length: max(bytes, 16), options: .storageModeShared) else {
            throw HarnessError.outOfMemory(bytes: bytes)
        }
        return buffer
    }

    func read<T>(_ buffer: MTLBuffer, _ count: Int) -> [T] {
        let start = buffer.contents().bindMemory(to: T.self, capacity: count)
        return Array(UnsafeBufferPointer(start: start, count: count))
    }
}

/// Launches that run one after the other.
final class Session {
    private let engine: Engine
    private var commands: MTLCommandBuffer?
    private var encoder: MTLComputeCommandEncoder?

    init(_ engine: Engine) {
        self.engine = engine
    }

    private func begin(_ pipeline: MTLComputePipelineState, _ buffers: [MTLBuffer], _ uniforms: [[UInt8]], _ shared: [Int])
        throws -> MTLComputeCommandEncoder
    {
        if encoder == nil {
            commands = engine.queue.makeCommandBuffer()
            encoder = commands?.makeComputeCommandEncoder()
        }
        guard let encoder = encoder else { throw HarnessError.failed("it gives no command encoder") }
        encoder.setComputePipelineState(pipeline)
        for (index, buffer) in buffers.enumerated() { encoder.setBuffer(buffer, offset: 0, index: index) }
        for (k, value) in uniforms.enumerated() {
            encoder.setBytes(value, length: value.count, index: buffers.count + k)
        }
        // Metal wants multiples of 16 bytes.
        for (index, bytes) in shared.enumerated() {
            encoder.setThreadgroupMemoryLength((max(bytes, 1) + 15) / 16 * 16, index: index)
        }
        return encoder
    }

    /// Exactly these threads, in threadgroups that the pipeline allows.
    func launch(_ name: String, buffers: [MTLBuffer], uniforms: [[UInt8]] = [], threads: (Int, Int, Int)) throws {
        if threads.0 == 0 || threads.1 == 0 || threads.2 == 0 { return }
        let pipeline = try engine.pipeline(name)
        let most = min(pipeline.maxTotalThreadsPerThreadgroup, 256)
        let flat = threads.1 == 1 && threads.2 == 1
        let x = min(threads.0, flat ? most : min(pipeline.threadExecutionWidth, most))
        let y = min(threads.1, most / x)
        let z = min(threads.2, most / (x * y))
        let encoder = try begin(pipeline, buffers, uniforms, [])
        encoder.dispatchThreads(
            MTLSize(width: threads.0, height: threads.1, depth: threads.2),
            threadsPerThreadgroup: MTLSize(width: x, height: y, depth: z))
    }

    /// Threadgroups of a fixed size, whose threads work together.
    func launch(
        _ name: String, buffers: [MTLBuffer], uniforms: [[UInt8]] = [], shared: [Int] = [],
        groups: (Int, Int, Int), block: (Int, Int, Int), simdWidth: Int? = nil
    ) throws {
        if groups.0 == 0 || groups.1 == 0 || groups.2 == 0 { return }
        let pipeline = try engine.pipeline(name)
        let (threads, limit) = (block.0 * block.1 * block.2, pipeline.maxTotalThreadsPerThreadgroup)
        if threads > limit { throw HarnessError.blockTooLarge(kernel: name, threads: threads, limit: limit) }
        if let width = simdWidth, width != pipeline.threadExecutionWidth {
            throw HarnessError.simdWidth(kernel: name, expected: width, found: pipeline.threadExecutionWidth)
        }
        let (bytes, most) = (shared.reduce(0, +), engine.device.maxThreadgroupMemoryLength)
        if bytes > most { throw HarnessError.sharedMemory(kernel: name, bytes: bytes, limit: most) }
        let encoder = try begin(pipeline, buffers, uniforms, shared)
        encoder.dispatchThreadgroups(
            MTLSize(width: groups.0, height: groups.1, depth: groups.2),
            threadsPerThreadgroup: MTLSize(width: block.0, height: block.1, depth: block.2))
    }

    /// Waits for everything that was launched.
    func finish() throws {
        guard let commands = commands else { return }
        encoder?.endEncoding()
        commands.commit()
        commands.waitUntilCompleted()
        (self.commands, self.encoder) = (nil, nil)
        if let error = commands.error { throw HarnessError.failed(error.localizedDescription) }
        engine.seconds += commands.gpuEndTime - commands.gpuStartTime
    }
}

/// The bytes of a uniform.
func uniform<T>(_ value: T) -> [UInt8] {
    return withUnsafeBytes(of: value) { Array($0) }
}

/// The number of positions of a shape; no more than kernels count.
func positions(_ kernel: String, _ array: String, _ shape: [Int]) throws -> Int {
    var count = 1
    for extent in shape {
        let (product, overflow) = count.multipliedReportingOverflow(by: extent)
        if overflow || product > maxPositions { throw HarnessError.tooLarge(kernel: kernel, array: array) }
        count = product
    }
    return count
}

/// A product of extents.
func times(_ a: Int, _ b: Int) throws -> Int {
    let (product, overflow) = a.multipliedReportingOverflow(by: b)
    if overflow { throw HarnessError.failed("the size \(a) * \(b) is too large") }
    return product
}

func expect(_ kernel: String, _ array: String, _ found: Int, _ expected: Int) throws {
    if found != expected {
        throw HarnessError.wrongCount(kernel: kernel, array: array, expected: expected, found: found)
    }
}

func require(_ holds: Bool, _ kernel: String, _ what: String) throws {
    if !holds { throw HarnessError.requirement(kernel: kernel, what: what) }
}

/// Elements that can be compared with what is expected.
protocol Element: Equatable {
    var number: Double { get }
    /// How far one may be off, relative to what is expected.
    static var tolerance: Double { get }
}

/// Prints the first eight elements of a result and how far it is off; `expected` holds every `stride`-th element of `count`.
func compare<T: Element>(_ name: String, _ found: [T], _ expected: [T], stride: Int, count: Int) -> Bool {
    if found.count != count {
        print("  \(name): \(found.count) elements, expected \(count)")
        return false
    }
    var (worst, right) = (0.0, true)
    for (k, wanted) in expected.enumerated() {
        let (a, b) = (found[k * stride].number, wanted.number)
        if found[k * stride] == wanted || (a.isNaN && b.isNaN) { continue }
        let error = abs(a - b)
        worst = error > worst || error.isNaN ? error : worst
        if !(error <= T.tolerance * max(1.0, abs(b))) { right = false }
    }
    print("  \(name): \(found.prefix(8)), max error \(worst)\(right ? "" : ", WRONG")")
    return right
}

/// Runs something some times and prints the best time on the device.
func measure(_ name: String, _ times: Int, bytes: Int, _ run: () throws -> Void) throws {
    let engine = try Engine.shared()
    var best = Double.infinity
    for _ in 0..<max(times, 1) {
        engine.seconds = 0.0
        try run()
        best = min(best, engine.seconds)
    }
    let rate = best > 0.0 ? Double(bytes) / best / 1e9 : 0.0
    print("  \(name): \(best * 1e6) us, \(rate) GB/s")
}

extension Float: Element {
    var number: Double { return Double(self) }
    static var tolerance: Double { return 1e-5 }
}

func run_vec_map(_ input: [Float]) throws -> [Float] {
    let engine = try Engine.shared()
    try expect("vec_map", "input", input.count, 8)
    let session = Session(engine)
    let buffer0 = try engine.buffer(input)
    let buffer1 = try engine.buffer(bytes: 8 * 4)
    try session.launch(
        "vec_map", buffers: [buffer0, buffer1],
        threads: (8, 1, 1))
    try session.finish()
    return engine.read(buffer1, 8) as [Float]
}

func run_mat_sqrt(_ input: [Float]) throws -> [Float] {
    let engine = try Engine.shared()
    try expect("mat_sqrt", "input", input.count, 16)
    let session = Session(engine)
    let buffer0 = try engine.buffer(input)
    let buffer1 = try engine.buffer(bytes: 16 * 4)
    try session.launch(
        "mat_sqrt", buffers: [buffer0, buffer1],
        threads: (4, 4, 1))
    try session.finish()
    return engine.read(buffer1, 16) as [Float]
}

func run_cube_sin(_ input: [Float]) throws -> [Float] {
    let engine = try Engine.shared()
    try expect("cube_sin", "input", input.count, 24)
    let session = Session(engine)
    let buffer0 = try engine.buffer(input)
    let buffer1 = try engine.buffer(bytes: 24 * 4)
    try session.launch(
        "cube_sin", buffers: [buffer0, buffer1],
        threads: (4, 3, 2))
    try session.finish()
    return engine.read(buffer1, 24) as [Float]
}

func run_vec_fill() throws -> [Float] {
    let engine = try Engine.shared()
    let session = Session(engine)
    let buffer0 = try engine.buffer(bytes: 8 * 4)
    try session.launch(
        "vec_fill", buffers: [buffer0],
        threads: (8, 1, 1))
    try session.finish()
    return engine.read(buffer0, 8) as [Float]
}

func run_mat_transpose(_ input: [Float]) throws -> [Float] {
    let engine = try Engine.shared()
    try expect("mat_transpose", "input", input.count, 16)
    let session = Session(engine)
    let buffer0 = try engine.buffer(input)
    let buffer1 = try engine.buffer(bytes: 16 * 4)
    try session.launch(
        "mat_transpose", buffers: [buffer0, buffer1],
        threads: (4, 4, 1))
    try session.finish()
    return engine.read(buffer1, 16) as [Float]
}

func run_vec_tabulate() throws -> [Float] {
    let engine = try Engine.shared()
    let session = Session(engine)
    let buffer0 = try engine.buffer(bytes: 8 * 4)
    try session.launch(
        "vec_tabulate", buffers: [buffer0],
        threads: (8, 1, 1))
    try session.finish()
    return engine.read(buffer0, 8) as [Float]
}

func run_vec_sum(_ input: [Float]) throws -> Float {
    let engine = try Engine.shared()
    try expect("vec_sum", "input", input.count, 256)
    let session = Session(engine)
    let buffer0 = try engine.buffer(input)
    let buffer1 = try engine.buffer(bytes: 1 * 4)
    try session.launch(
        "vec_sum", buffers: [buffer0, buffer1], shared: [32],
        groups: (1, 1, 1), block: (256, 1, 1), simdWidth: 32)
    try session.finish()
    return (engine.read(buffer1, 1) as [Float])[0]
}

/// Compares every kernel with what the interpreter of Słyż computed. False where one differs.
func validate() throws -> Bool {
    var right = true
    do {  // vec_map
        let input: [Float] = (0..<8).map { Float($0 % 97 + 1) }
        let found = try run_vec_map(input)
        let expected0: [Float] = [3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0]
        right = compare("vec_map", found, expected0, stride: 1, count: 8) && right
    }
    do {  // mat_sqrt
        let input: [Float] = (0..<16).map { Float($0 % 97 + 1) }
        let found = try run_mat_sqrt(input)
        let expected0: [Float] = [
            1.0, 1.4142135, 1.7320508, 2.0, 2.236068, 2.4494898, 2.6457512, 2.828427, 3.0, 3.1622777, 3.3166249, 3.4641016,
            3.6055512, 3.7416575, 3.8729835, 4.0
        ]
        right = compare("mat_sqrt", found, expected0, stride: 1, count: 16) && right
    }
    do {  // cube_sin
        let input: [Float] = (0..<24).map { Float($0 % 97 + 1) }
        let found = try run_cube_sin(input)
        let expected0: [Float] = [
            0.84147096, 0.9092974, 0.14112, -0.7568025, -0.9589243, -0.2794155, 0.6569866, 0.98935825, 0.4121185, -0.5440211, -0.9999902, -0.53657293,
            0.42016703, 0.9906074, 0.65028787, -0.2879033, -0.96139747, -0.75098723, 0.1498772, 0.9129453, 0.8366556, -0.008851309, -0.84622043, -0.9055784
        ]
        right = compare("cube_sin", found, expected0, stride: 1, count: 24) && right
    }
    do {  // vec_fill
        let found = try run_vec_fill()
        let expected0: [Float] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        right = compare("vec_fill", found, expected0, stride: 1, count: 8) && right
    }
    do {  // mat_transpose
        let input: [Float] = (0..<16).map { Float($0 % 97 + 1) }
        let found = try run_mat_transpose(input)
        let expected0: [Float] = [
            1.0, 5.0, 9.0, 13.0, 2.0, 6.0, 10.0, 14.0, 3.0, 7.0, 11.0, 15.0,
            4.0, 8.0, 12.0, 16.0
        ]
        right = compare("mat_transpose", found, expected0, stride: 1, count: 16) && right
    }
    do {  // vec_tabulate
        let found = try run_vec_tabulate()
        let expected0: [Float] = [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0]
        right = compare("vec_tabulate", found, expected0, stride: 1, count: 8) && right
    }
    do {  // vec_sum
        let input: [Float] = (0..<256).map { Float($0 % 97 + 1) }
        let found = try run_vec_sum(input)
        let expected0: [Float] = [11459.0]
        right = compare("vec_sum", [found], expected0, stride: 1, count: 1) && right
    }
    return right
}

/// Prints the best of some times, and the bytes of arguments and results per second.
func bench(_ times: Int) throws {
    do {  // vec_map
        let input: [Float] = (0..<8).map { Float($0 % 97 + 1) }
        try measure("vec_map", times, bytes: 64) { _ = try run_vec_map(input) }
    }
    do {  // mat_sqrt
        let input: [Float] = (0..<16).map { Float($0 % 97 + 1) }
        try measure("mat_sqrt", times, bytes: 128) { _ = try run_mat_sqrt(input) }
    }
    do {  // cube_sin
        let input: [Float] = (0..<24).map { Float($0 % 97 + 1) }
        try measure("cube_sin", times, bytes: 192) { _ = try run_cube_sin(input) }
    }
    do {  // vec_fill
        try measure("vec_fill", times, bytes: 32) { _ = try run_vec_fill() }
    }
    do {  // mat_transpose
        let input: [Float] = (0..<16).map { Float($0 % 97 + 1) }
        try measure("mat_transpose", times, bytes: 128) { _ = try run_mat_transpose(input) }
    }
    do {  // vec_tabulate
        try measure("vec_tabulate", times, bytes: 32) { _ = try run_vec_tabulate() }
    }
    do {  // vec_sum
        let input: [Float] = (0..<256).map { Float($0 % 97 + 1) }
        try measure("vec_sum", times, bytes: 1028) { _ = try run_vec_sum(input) }
    }
}

@main
struct Harness {
    static func main() {
        do {
            print("validating:")
            guard try validate() else { exit(1) }
            if let at = CommandLine.arguments.firstIndex(of: "--bench") {
                let times = CommandLine.arguments.dropFirst(at + 1).first.flatMap { Int($0) } ?? 10
                print("best of \(times):")
                try bench(times)
            }
        } catch {
            FileHandle.standardError.write("\(error)\n".data(using: .utf8) ?? Data())
            exit(1)
        }
    }
}
