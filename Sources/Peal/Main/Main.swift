import PealKit
import Terminal

/// `peal`: the operator's tool.
@main
struct PealMain {
    static func main() { Console.end(PealCommand.main()) }
}
