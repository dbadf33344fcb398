internal import Configuration
internal import Kafka
internal import Redis
internal import Services

/// Why a command could not do its work, and what the process exits with.
struct ToolFailure: Error, Equatable, CustomStringConvertible {
    /// The exit code of a command that could not reach what it needs.
    static let awayCode: Int32 = 2

    let exitCode: Int32
    /// One sentence that says what to fix.
    let message: String

    var description: String { message }

    /// Something can't be reached or doesn't answer.
    init(away message: String) {
        exitCode = Self.awayCode
        self.message = message
    }

    init(_ failure: KafkaFailure) {
        exitCode = failure.code == .configuration ? ServiceRunner.configurationExitCode : Self.awayCode
        message = failure.message
    }

    init(_ failure: RedisFailure) {
        exitCode = Self.awayCode
        message = "Redis can't do it: \(failure.message)"
    }

    init(_ failure: ConfigurationFailure) {
        exitCode = ServiceRunner.configurationExitCode
        message = "\(failure)"
    }
}

extension KafkaFailure {
    /// Runs the body and gives its failure in the tools' form.
    static func told<R>(_ body: () throws(KafkaFailure) -> R) throws(ToolFailure) -> R {
        do throws(KafkaFailure) {
            return try body()
        } catch {
            throw ToolFailure(error)
        }
    }
}

extension RedisFailure {
    /// Runs the body and gives its failure in the tools' form.
    static func told<R>(_ body: () throws(RedisFailure) -> R) throws(ToolFailure) -> R {
        do throws(RedisFailure) {
            return try body()
        } catch {
            throw ToolFailure(error)
        }
    }
}
