import WorkerKit

@main
struct WorkerMain {
    static func main() {}
}
