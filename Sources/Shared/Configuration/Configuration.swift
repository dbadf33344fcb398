import Glibc
internal import Rendering
import YAML

/// Reads the configuration file and the environment.
///
/// A value comes from the environment (`PEAL_` and the path in upper case with `_`: `PEAL_REDIS_URL`), else
/// from the file, else it is the default.
package enum Configuration {
    /// The settings from the file at `path`, else at `PEAL_CONFIG`, else from the environment alone.
    package static func load(
        path: String? = nil, environment: [String: String]
    ) throws(ConfigurationFailure) -> Settings {
        guard let file = path ?? environment["PEAL_CONFIG"], !file.isEmpty else {
            return try settings(from: YAMLNode(kind: .mapping([]), line: 1, column: 1), file: "", environment)
        }
        switch FileBytes.read(file, max: YAMLDocument.bytesMax) {
        case .success(let bytes): return try parse(bytes, file: file, environment: environment)
        case .failure(let problem):
            throw ConfigurationFailure([.init(code: .unreadable, place: file, message: problem.message)])
        }
    }

    /// What ``load(path:environment:)`` gives, as a value.
    package static func result(
        path: String?, environment: [String: String]
    ) -> Result<Settings, ConfigurationFailure> {
        do throws(ConfigurationFailure) {
            return .success(try load(path: path, environment: environment))
        } catch {
            return .failure(error)
        }
    }

    /// The settings from the document's bytes; `file` is the name in messages and the base of relative paths.
    package static func parse(
        _ bytes: [UInt8], file: String, environment: [String: String] = [:]
    ) throws(ConfigurationFailure) -> Settings {
        let root: YAMLNode
        do throws(YAMLFailure) {
            root = try YAMLDocument.parse(bytes)
        } catch {
            let place = error.line > 0 ? "\(file):\(error.line)" : file
            throw ConfigurationFailure([.init(code: .syntax, place: place, message: error.message)])
        }
        return try settings(from: root, file: file, environment)
    }

    private static func settings(
        from root: YAMLNode, file: String, _ environment: [String: String]
    ) throws(ConfigurationFailure) -> Settings {
        let context = LoadContext(file: file.isEmpty ? "environment" : file, environment: environment)
        guard root.entries != nil else {
            throw ConfigurationFailure([
                .init(
                    code: .syntax, place: "\(file):\(root.line)",
                    message: "the file holds \(root.kindName); write a mapping of settings")
            ])
        }
        var settings = Settings(SectionReader(context: context, path: [], line: root.line, node: root))
        guard context.problems.isEmpty else { throw ConfigurationFailure(context.problems) }
        if !file.isEmpty { settings.files.insert(file, at: 0) }
        settings.warnings = warnings(context, settings)
        return settings
    }

    private static func warnings(_ context: LoadContext, _ settings: Settings) -> [String] {
        var list: [String] = []
        for name in context.environment.keys.sorted()
        where name.hasPrefix("PEAL_") && name != "PEAL_CONFIG" && !context.usedVariables.contains(name) {
            if isServiceLink(name) { continue }
            let hint = Suggestion.nearest(to: name, among: context.knownVariables).map {
                "; did you mean \($0)?"
            }
            list.append("\(name) is set but is no setting\(hint ?? "")")
        }
        if settings.kafka.properties.contains(where: { $0.name == "sasl.password" }) {
            list.append(
                "kafka.sasl.password stands in the open; put it into a file and set kafka.password_file"
            )
        }
        for (name, endpoint) in [
            ("apns.production", settings.providers.apnsProduction),
            ("apns.sandbox", settings.providers.apnsSandbox),
            ("fcm.endpoint", settings.providers.fcm),
            ("fcm.token_endpoint", settings.providers.fcmTokenEndpoint),
        ] where !endpoint.verify {
            list.append("providers.\(name).verify is off: the server's certificate is not checked")
        }
        for app in settings.apps {
            guard let profile = app.contract.profile, app.profile != profile else { continue }
            list.append(
                "apps.\(app.name) has contract: \(app.contract.rawValue) and profile: "
                    + "\(app.profile.rawValue); clients of this contract expect profile: "
                    + "\(profile.rawValue)")
        }
        return list
    }

    /// Whether Kubernetes put the variable there for a service whose name begins with `peal-`.
    static func isServiceLink(_ name: String) -> Bool {
        name.hasSuffix("_SERVICE_HOST") || name.contains("_SERVICE_PORT") || name.hasSuffix("_PORT")
            || name.contains("_PORT_")
    }

    /// The process's environment.
    package static var processEnvironment: [String: String] {
        var out: [String: String] = [:]
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            let pair = unsafe String(cString: text)
            if let equals = pair.firstIndex(of: "=") {
                out[String(pair[..<equals])] = String(pair[pair.index(after: equals)...])
            }
            unsafe entry += 1
        }
        return out
    }
}
