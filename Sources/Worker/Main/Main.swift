internal import Glibc
internal import WorkerKit

@main
struct WorkerMain {
    static func main() { exit(WorkerCommand.main()) }
}
