internal import WorkerKit
internal import Terminal

@main
struct WorkerMain {
    static func main() { Console.end(WorkerCommand.main()) }
}
