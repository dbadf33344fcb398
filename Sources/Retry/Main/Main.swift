import Glibc
import RetryKit

/// `peal-retry`: gives waiting jobs back when they are due.
@main
struct RetryMain {
    static func main() { exit(RetryCommand.main()) }
}
