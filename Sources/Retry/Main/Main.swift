import RetryKit
import Terminal

/// `peal-retry`: gives waiting jobs back when they are due.
@main
struct RetryMain {
    static func main() { Console.end(RetryCommand.main()) }
}
