internal import Configuration
internal import Core
internal import HTTPServer
internal import Redis
internal import Registry

/// The topics that a recipient follows.
package enum NativeTopicRoutes {
    /// Topics that begin so are the gateway's own bookkeeping; nobody sees or changes them.
    static let ownMark = "@"

    /// The routes.
    package static func routes(_ apps: GatewayApps) -> [GatewayRoute] {
        let topics = "/v1/apps/{app}/recipients/{recipient}/topics"
        func change(_ method: String, _ operation: String, follows: Bool) -> GatewayRoute {
            GatewayRoute(
                method, topics + "/{topic}", operation, .keyOrUser(.register),
                .registry { call, session in
                    let app = try apps.app(call.app)
                    let index = SubscriberIndex(session: session, app: app.name)
                    return .answer(try self.change(call, index, follows: follows))
                })
        }
        return [
            GatewayRoute(
                "GET", topics, "listTopics", .keyOrUser(.register),
                .registry { call, session in
                    let app = try apps.app(call.app)
                    let recipient = try NativeDeviceRoutes.recipient(call)
                    let found = try SubscriberIndex(session: session, app: app.name).topics(of: recipient)
                    let shown = found.filter { !$0.hasPrefix(ownMark) }
                    var answer = AnswerObject()
                    answer.set("topics", .array(shown.map { JSONValue.string($0) }))
                    return .answer(.json(200, answer.text))
                }),
            change("PUT", "followTopic", follows: true), change("DELETE", "leaveTopic", follows: false),
        ]
    }

    /// Whether recipients may follow the topic and senders may name it.
    static func isUsable(_ topic: String) -> Bool {
        (1...SubscriberIndex.topicBytesMax).contains(topic.utf8.count) && Names.isPrintable(topic)
            && topic != SubscriberIndex.everybody && !topic.hasPrefix(ownMark)
    }

    /// What makes a topic usable, as a sentence.
    static let rule =
        "A topic has 1 to \(SubscriberIndex.topicBytesMax) bytes without control characters, isn't * and "
        + "doesn't begin with \(ownMark)."

    private static func change(
        _ call: GatewayCall, _ index: SubscriberIndex, follows: Bool
    ) throws -> HTTPResponse {
        let recipient = try NativeDeviceRoutes.recipient(call)
        let topic = call.parameters["topic"] ?? ""
        guard isUsable(topic) else { throw Problem.badRequest(rule, field: "topic") }
        if follows {
            try follow(topic, recipient, index)
        } else {
            try index.unsubscribe(recipient, topic)
        }
        var answer = AnswerObject()
        answer.set("topic", topic)
        answer.set("subscribed", follows)
        return .json(200, answer.text)
    }

    private static func follow(_ topic: String, _ recipient: String, _ index: SubscriberIndex) throws {
        let result = Result { () throws(RedisFailure) in try index.subscribe(recipient, topic) }
        guard case .failure(let failure) = result else { return }
        guard failure.code == .refused else { throw failure }
        throw Problem.conflict(
            "The recipient follows \(SubscriberIndex.topicsMax) topics already; leave one first.")
    }
}
