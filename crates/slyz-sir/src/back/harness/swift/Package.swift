// swift-tools-version:5.7
import PackageDescription

let package = Package(
    name: "harness",
    platforms: [.macOS(.v12)],
    targets: [
        .executableTarget(
            name: "harness", path: ".", exclude: ["kernels.metal", "README.md"], sources: ["harness.swift"],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])])
    ]
)
