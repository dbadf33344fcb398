import Glibc
import PealKit

/// `peal`: the operator's tool.
@main
struct PealMain {
    static func main() { exit(PealCommand.main()) }
}
