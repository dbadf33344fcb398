import BroadcastKit
import Core
import GatewayKit
import ProducerKit
import Terminal

@main
struct ProducerMain {
    static func main() {
        Console.end(
            ProducerCommand.main(
                version: Version.current,
                services: [
                    .init(ServeCommand.command) { arguments, _ in ServeCommand.run(arguments) },
                    .init(ExpandCommand.command) { arguments, _ in ExpandCommand.run(arguments) },
                    .init(KeyCommand.command) { KeyCommand.run($0, root: $1) },
                ]))
    }
}
