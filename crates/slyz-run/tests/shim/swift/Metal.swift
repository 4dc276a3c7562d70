// A module named Metal for machines without one: of Apple's, what harnesses call, with its signatures.
//
// The device is `kernels.so` in the folder that a program runs in, the project's kernels compiled as C++ (`../glue.rs`); without it
// there is none. What Metal's validation layer complains of ends the program here, too, and commands run when they are committed.

import Foundation

public struct MTLSize {
    public var width, height, depth: Int

    public init(width: Int, height: Int, depth: Int) {
        (self.width, self.height, self.depth) = (width, height, depth)
    }

    var counts: [UInt32] { return [UInt32(width), UInt32(height), UInt32(depth)] }
}

public struct MTLResourceOptions: OptionSet {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static var storageModeShared: MTLResourceOptions { return [] }
}

public final class MTLCompileOptions {
    public var fastMathEnabled = true

    public init() {}
}

public protocol MTLDevice: AnyObject {
    var maxThreadgroupMemoryLength: Int { get }
    func makeCommandQueue() -> MTLCommandQueue?
    func makeLibrary(source: String, options: MTLCompileOptions?) throws -> MTLLibrary
    func makeComputePipelineState(function: MTLFunction) throws -> MTLComputePipelineState
    func makeBuffer(length: Int, options: MTLResourceOptions) -> MTLBuffer?
}

public protocol MTLLibrary: AnyObject {
    func makeFunction(name: String) -> MTLFunction?
}

public protocol MTLFunction: AnyObject {}

public protocol MTLComputePipelineState: AnyObject {
    var maxTotalThreadsPerThreadgroup: Int { get }
    var threadExecutionWidth: Int { get }
}

public protocol MTLBuffer: AnyObject {
    func contents() -> UnsafeMutableRawPointer
}

public protocol MTLCommandQueue: AnyObject {
    func makeCommandBuffer() -> MTLCommandBuffer?
}

public protocol MTLCommandBuffer: AnyObject {
    var error: Error? { get }
    var gpuStartTime: Double { get }
    var gpuEndTime: Double { get }
    func makeComputeCommandEncoder() -> MTLComputeCommandEncoder?
    func commit()
    func waitUntilCompleted()
}

public protocol MTLComputeCommandEncoder: AnyObject {
    func setComputePipelineState(_ state: MTLComputePipelineState)
    func setBuffer(_ buffer: MTLBuffer?, offset: Int, index: Int)
    func setBytes(_ bytes: UnsafeRawPointer, length: Int, index: Int)
    func setThreadgroupMemoryLength(_ length: Int, index: Int)
    func dispatchThreads(_ threads: MTLSize, threadsPerThreadgroup: MTLSize)
    func dispatchThreadgroups(_ groups: MTLSize, threadsPerThreadgroup: MTLSize)
    func endEncoding()
}

public func MTLCreateSystemDefaultDevice() -> MTLDevice? {
    guard let kernels = dlopen("./kernels.so", RTLD_NOW) else { return nil }
    return Device(kernels)
}

/// `launch_NAME`: what is bound, bytes of threadgroup memories, threads or threadgroups, and the size of these unless it does not matter.
private typealias Launch = @convention(c) (
    UnsafePointer<UnsafeMutableRawPointer?>, UnsafePointer<Int>, UnsafePointer<UInt32>, UnsafePointer<UInt32>?
) -> Int32

private let maxBindings = 31
private let maxThreads = 1024
private let maxMemory = 32 << 10

private final class Device: MTLDevice {
    let kernels: UnsafeMutableRawPointer
    let maxThreadgroupMemoryLength = maxMemory

    init(_ kernels: UnsafeMutableRawPointer) { self.kernels = kernels }

    func makeCommandQueue() -> MTLCommandQueue? { return Queue() }

    func makeLibrary(source: String, options: MTLCompileOptions?) throws -> MTLLibrary { return Library(kernels, source) }

    func makeComputePipelineState(function: MTLFunction) throws -> MTLComputePipelineState {
        guard let function = function as? Function else { preconditionFailure("a function of another device") }
        return Pipeline(function.launch)
    }

    func makeBuffer(length: Int, options: MTLResourceOptions) -> MTLBuffer? {
        precondition(length > 0, "Metal has no empty buffers")
        return Buffer(length)
    }
}

private final class Library: MTLLibrary {
    let (kernels, source): (UnsafeMutableRawPointer, String)

    init(_ kernels: UnsafeMutableRawPointer, _ source: String) { (self.kernels, self.source) = (kernels, source) }

    func makeFunction(name: String) -> MTLFunction? {
        guard source.contains("kernel void \(name)("), let found = dlsym(kernels, "launch_\(name)") else { return nil }
        return Function(unsafeBitCast(found, to: Launch.self))
    }
}

private final class Function: MTLFunction {
    let launch: Launch

    init(_ launch: @escaping Launch) { self.launch = launch }
}

private final class Pipeline: MTLComputePipelineState {
    let launch: Launch
    let maxTotalThreadsPerThreadgroup = maxThreads
    let threadExecutionWidth = 32

    init(_ launch: @escaping Launch) { self.launch = launch }
}

/// Memory that holds nothing of use at first, with a guard behind it.
private final class Buffer: MTLBuffer {
    let (start, length): (UnsafeMutableRawPointer, Int)
    static let (guardBytes, filler) = (64, UInt8(0xa5))

    init(_ length: Int) {
        start = UnsafeMutableRawPointer.allocate(byteCount: length + Buffer.guardBytes, alignment: 64)
        start.initializeMemory(as: UInt8.self, repeating: Buffer.filler, count: length + Buffer.guardBytes)
        self.length = length
    }

    deinit {
        let behind = UnsafeRawBufferPointer(start: start + length, count: Buffer.guardBytes)
        precondition(behind.allSatisfy { $0 == Buffer.filler }, "something was written behind a buffer of \(length) bytes")
        start.deallocate()
    }

    func contents() -> UnsafeMutableRawPointer { return start }
}

private final class Queue: MTLCommandQueue {
    func makeCommandBuffer() -> MTLCommandBuffer? { return Commands() }
}

private struct Stuck: LocalizedError {
    var errorDescription: String? { return "not all threads reach a barrier" }
}

private final class Commands: MTLCommandBuffer {
    enum State { case open, encoding, committed }

    var state = State.open
    var launches: [() -> Bool] = []
    var error: Error?
    var (gpuStartTime, gpuEndTime) = (0.0, 0.0)

    func makeComputeCommandEncoder() -> MTLComputeCommandEncoder? {
        precondition(state == .open, "an encoder while there is another, or after the commit")
        state = .encoding
        return Encoder(self)
    }

    func commit() {
        precondition(state == .open, "a commit before endEncoding, or a second one")
        state = .committed
        gpuStartTime = ProcessInfo.processInfo.systemUptime
        if !launches.allSatisfy({ $0() }) { error = Stuck() }
        gpuEndTime = ProcessInfo.processInfo.systemUptime
    }

    func waitUntilCompleted() { precondition(state == .committed, "waits for what was not committed") }
}

private final class Encoder: MTLComputeCommandEncoder {
    let commands: Commands
    var pipeline: Pipeline?
    var bound = [Buffer?](repeating: nil, count: maxBindings)
    var memories: [Int] = []

    init(_ commands: Commands) { self.commands = commands }

    func setComputePipelineState(_ state: MTLComputePipelineState) { pipeline = state as? Pipeline }

    func setBuffer(_ buffer: MTLBuffer?, offset: Int, index: Int) {
        precondition(offset == 0 && index < maxBindings, "no buffer \(index) at \(offset)")
        bound[index] = buffer as? Buffer
    }

    func setBytes(_ bytes: UnsafeRawPointer, length: Int, index: Int) {
        precondition(0 < length && length <= 4096 && index < maxBindings, "no \(length) bytes at \(index)")
        let buffer = Buffer(length)
        buffer.start.copyMemory(from: bytes, byteCount: length)
        bound[index] = buffer
    }

    func setThreadgroupMemoryLength(_ length: Int, index: Int) {
        precondition(length % 16 == 0 && index < maxBindings, "no \(length) bytes of threadgroup memory \(index)")
        while memories.count <= index { memories.append(0) }
        memories[index] = length
    }

    func dispatchThreads(_ threads: MTLSize, threadsPerThreadgroup: MTLSize) {
        encode(threads, threadsPerThreadgroup, fixed: false)
    }

    func dispatchThreadgroups(_ groups: MTLSize, threadsPerThreadgroup: MTLSize) {
        encode(groups, threadsPerThreadgroup, fixed: true)
    }

    func endEncoding() {
        precondition(commands.state == .encoding, "endEncoding twice")
        commands.state = .open
    }

    private func encode(_ extent: MTLSize, _ block: MTLSize, fixed: Bool) {
        guard commands.state == .encoding, let pipeline = pipeline else { preconditionFailure("a dispatch of nothing") }
        let (extent, block) = (extent.counts, block.counts)
        precondition(extent.allSatisfy { $0 > 0 } && block.allSatisfy { $0 > 0 }, "a dispatch without threads")
        precondition(block.reduce(1, *) <= maxThreads, "a threadgroup of \(block)")
        precondition(memories.reduce(0, +) <= maxMemory, "\(memories) bytes of threadgroup memory")
        let (bound, memories, launch) = (self.bound, self.memories + [0], pipeline.launch)
        // What is bound lives until it has run.
        commands.launches.append { launch(bound.map { $0?.start }, memories, extent, fixed ? block : nil) == 0 }
    }
}
