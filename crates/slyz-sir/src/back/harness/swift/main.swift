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
