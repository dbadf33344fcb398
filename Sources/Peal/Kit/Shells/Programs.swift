internal import BroadcastKit
internal import Core
internal import GatewayKit
internal import ProducerKit
internal import RetryKit
internal import SimulatorKit
internal import Terminal
internal import WorkerKit

/// The programs that make up Peal, as they describe themselves.
enum Programs {
    /// The version that all of them tell.
    static let version = Version.current

    /// All five, `peal` first.
    static let all = [
        PealCommand.command,
        ProducerCommand.root([ServeCommand.command, ExpandCommand.command, KeyCommand.command]),
        WorkerCommand.command, RetryCommand.command, SimulatorCommand.command,
    ]
}
