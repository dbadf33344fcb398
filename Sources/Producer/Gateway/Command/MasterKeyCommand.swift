package import Configuration
internal import Providers
internal import Redis
internal import Registry
internal import Security
internal import Services
package import Terminal

/// The commands about the master key that uploaded credentials are sealed with: `peal-producer key master`
/// and `peal-producer key reseal`.
package enum MasterKeyCommand {
    private static let master = Command(
        "master", summary: "Makes a master key for uploaded credentials.",
        details: """
            Prints 32 random bytes in hexadecimal. Write them to a file that only the gateway and the workers
            may read, and name it in credentials.master_key_file. Whoever loses it must upload the
            credentials again.
            """)

    private static let reseal = Command(
        "reseal", summary: "Seals uploaded credentials with the current master key.",
        options: [
            Option(
                "config", short: "c", .value("FILE"), environment: "PEAL_CONFIG",
                help: "The configuration (YAML).")
        ],
        details: """
            For a change of the master key: the new one in credentials.master_key_file, the old one in
            credentials.former_key_files, everything restarted or reloaded; then this command. After it
            the old key is not needed any more.

            Exit codes: 0 done, 1 something can't be opened, 69 no Redis, 78 wrong configuration.
            """)

    /// What `key` gets of them.
    package static let subcommands = [master, reseal]

    /// Runs one of them and gives the process's exit code.
    package static func run(_ arguments: Arguments) -> Int32 {
        arguments.path.last == "reseal" ? reseal(arguments) : makeKey()
    }

    private static func makeKey() -> Int32 {
        do throws(SecurityFailure) {
            Console.write(try SealingRing.generate() + "\n")
            return 0
        } catch {
            Console.complain("peal-producer: \(error.message)")
            return 1
        }
    }

    private static func reseal(_ arguments: Arguments) -> Int32 {
        let settings: Settings
        do throws(ConfigurationFailure) {
            settings = try Configuration.load(
                path: arguments.string("config"), environment: Console.environment)
        } catch {
            Console.complain("peal-producer: \(error)")
            return ServiceRunner.configurationExitCode
        }
        do {
            let (count, unreadable) = try reseal(settings)
            Console.write("\(count) credentials were sealed with the current master key.\n")
            for line in unreadable { Console.complain("peal-producer: \(line)") }
            return unreadable.isEmpty ? 0 : 1
        } catch let failure as RedisFailure {
            Console.complain("peal-producer: \(failure.message)")
            // EX_UNAVAILABLE of sysexits.h.
            return 69
        } catch {
            Console.complain("peal-producer: \(error)")
            return ServiceRunner.configurationExitCode
        }
    }

    /// Seals the uploaded credentials of every app anew that a former key sealed.
    /// - Returns: how many, and what can't be opened.
    /// - Throws: when the keys can't be used or Redis isn't there.
    package static func reseal(_ settings: Settings) throws -> (count: Int, unreadable: [String]) {
        guard let ring = try settings.credentials.ring() else {
            throw CredentialFailure("credentials.master_key_file is not configured")
        }
        let session = try RedisSession(
            options: try settings.redisOptions(scripts: CredentialStore.scripts))
        defer { session.close() }
        let store = CredentialStore(session: session, ring: ring)
        var count = 0
        var unreadable: [String] = []
        for app in settings.apps {
            let done = try store.reseal(app: app.name)
            count += done.count
            unreadable += done.unreadable
        }
        return (count, unreadable)
    }
}
