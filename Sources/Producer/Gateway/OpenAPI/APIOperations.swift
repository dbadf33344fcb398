/// Every operation, in the order of the document.
enum APIOperations {
    private static let recipient = "/v1/apps/{app}/recipients/{recipient}"

    /// Jobs.
    static let sending: [APIOperation] = [
        APIOperation("POST", "/v1/jobs", "sendJobs", tag: "jobs", .key(.send), "Send one or many jobs")
            .parameter(
                .query, "lane", "Which lane; normal unless given.",
                #"{"type":"string","enum":["urgent","normal","bulk"]}"#
            )
            .idempotencyKey
            .body("Jobs").body("JobLines", media: "application/x-ndjson")
            .answer(202, "Kafka has every job.", "Receipts").problems(409, 415, 422),
        APIOperation(
            "GET", "/v1/apps/{app}/scheduled", "listScheduled", tag: "jobs", .key(.send),
            "List the jobs that wait for their time"
        )
        .parameter(.query, "limit", "The most jobs.", #"{"type":"integer","minimum":1,"maximum":1000}"#)
        .parameter(.query, "after", "`next` of the page before.", #"{"type":"string"}"#)
        .answer(200, "The jobs, by their time.", "ScheduledJobs").problems(404),
        APIOperation(
            "DELETE", "/v1/apps/{app}/scheduled/{id}", "cancelScheduled", tag: "jobs", .key(.send),
            "Cancel a job that waits for its time"
        )
        .answer(204, "It will not be sent.").problems(404),
    ]

    /// Devices, reads, preferences and topics of one recipient.
    static let recipients: [APIOperation] = [
        APIOperation(
            "GET", recipient + "/devices", "listDevices", tag: "recipients", .keyOrUser(.register),
            "List a recipient's devices"
        )
        .answer(200, "The devices, by their ids; of each token the first eight characters.", "Devices")
        .problems(404),
        APIOperation(
            "PUT", recipient + "/devices/{device}", "putDevice", tag: "recipients", .keyOrUser(.register),
            "Register a device, or refresh its registration"
        )
        .body("DeviceRegistration").answer(200, "It is registered.", "Device").problems(404),
        APIOperation(
            "DELETE", recipient + "/devices/{device}", "removeDevice", tag: "recipients",
            .keyOrUser(.register), "Remove a device"
        )
        .answer(200, "It isn't registered any more.", "Removed").problems(404),
        APIOperation(
            "POST", recipient + "/read", "read", tag: "recipients", .keyOrUser(.register),
            "Tell that something was read"
        )
        .body("Read").answer(200, "The counter; the other devices are told within seconds.", "Unread")
        .problems(404),
        APIOperation(
            "GET", recipient + "/unread", "unread", tag: "recipients", .keyOrUser(.register),
            "Read the unread counter"
        )
        .answer(200, "The counter.", "UnreadCounts").problems(404),
        APIOperation(
            "GET", recipient + "/preferences", "getPreferences", tag: "recipients", .keyOrUser(.register),
            "Read a recipient's preferences"
        )
        .answer(200, "The preferences.", "Preferences").problems(404),
        APIOperation(
            "PUT", recipient + "/preferences", "putPreferences", tag: "recipients", .keyOrUser(.register),
            "Replace a recipient's preferences"
        )
        .body("Preferences").answer(200, "The preferences that are now in force.", "Preferences")
        .problems(404),
        APIOperation(
            "GET", recipient + "/topics", "listTopics", tag: "recipients", .keyOrUser(.register),
            "List the topics that a recipient follows"
        )
        .answer(200, "The topics.", "Topics").problems(404),
        APIOperation(
            "PUT", recipient + "/topics/{topic}", "followTopic", tag: "recipients", .keyOrUser(.register),
            "Follow a topic"
        )
        .answer(200, "It is followed.", "Topic").problems(404, 409),
        APIOperation(
            "DELETE", recipient + "/topics/{topic}", "leaveTopic", tag: "recipients", .keyOrUser(.register),
            "Follow a topic no more"
        )
        .answer(200, "It is not followed.", "Topic").problems(404),
    ]

    /// Broadcasts.
    static let broadcasts: [APIOperation] =
        [
            APIOperation(
                "POST", "/v1/apps/{app}/broadcasts", "broadcast", tag: "broadcasts", .key(.send),
                "Send a job to a topic or to everybody"
            )
            .idempotencyKey
            .body("Broadcast").answer(202, "Kafka has it.", "BroadcastReceipt").problems(404, 409, 422),
            APIOperation(
                "GET", "/v1/apps/{app}/broadcasts/{broadcast}", "broadcastStatus", tag: "broadcasts",
                .key(.send), "Read how far a broadcast has got"
            )
            .answer(200, "How it stands.", "BroadcastStatus").problems(404),
        ]
        + [("pause", "Hold a broadcast back"), ("resume", "Let it go on"), ("cancel", "End it for good")].map
    {
        verb, summary in
        APIOperation(
            "POST", "/v1/apps/{app}/broadcasts/{broadcast}/\(verb)", "\(verb)Broadcast",
            tag: "broadcasts", .key(.send), summary
        )
        .answer(200, "The order is written down; workers obey it within a second.", "BroadcastOrder")
        .problems(404, 409)
    }

    /// Credentials.
    static let administration: [APIOperation] = [
        APIOperation(
            "GET", "/v1/apps/{app}/credentials", "listCredentials", tag: "credentials", .key(.admin),
            "List what is known about an app's uploaded credentials"
        )
        .answer(200, "What they are; never the credentials themselves.", "Credentials").problems(404, 409),
        APIOperation(
            "PUT", "/v1/apps/{app}/credentials/{kind}", "putCredential", tag: "credentials", .key(.admin),
            "Upload a credential, in force within seconds"
        )
        .body("CredentialUpload").answer(200, "What was stored.", "Credential").problems(404, 409),
        APIOperation(
            "DELETE", "/v1/apps/{app}/credentials/{kind}", "deleteCredential", tag: "credentials",
            .key(.admin), "Remove an uploaded credential"
        )
        .answer(204, "It isn't used any more.").problems(404, 409),
    ]

    /// The dashboard's overview and the kill switch.
    static let operations: [APIOperation] = [
        APIOperation(
            "GET", "/v1/overview", "overview", tag: "operations", .key(.read), "Read how the pipeline stands"
        )
        .overviewQuery.answer(200, "How it stands.", "Overview").problems(503),
        APIOperation(
            "GET", "/v1/overview/stream", "overviewStream", tag: "operations", .key(.read),
            "Be told how the pipeline stands, every two seconds"
        )
        .overviewQuery.answer(200, "Server-sent events, without end.", "OverviewEvents").problems(503),
        APIOperation(
            "POST", "/v1/control", "control", tag: "operations", .key(.admin),
            "Pause, resume or cancel an app, a provider, a campaign or a job"
        )
        .body("ControlOrder")
        .answer(200, "It is written down; workers obey it within a second.", "ControlAnswer").problems(503),
    ]

    /// The gateway itself.
    static let service: [APIOperation] = [
        APIOperation("GET", "/openapi.json", "openapi", tag: "service", .open, "Read this document")
            .answer(200, "The document.", "Document"),
        APIOperation("GET", "/livez", "livez", tag: "service", .open, "Ask whether the process lives")
            .answer(200, "It does.", "Text"),
        APIOperation("GET", "/readyz", "readyz", tag: "service", .open, "Ask whether it can work")
            .answer(200, "It can.", "Text").answer(503, "It can't; the text says why.", "Text"),
        APIOperation("GET", "/statusz", "statusz", tag: "service", .open, "Read how it stands")
            .answer(200, "How it stands; as JSON with format=json or Accept: application/json.", "Text"),
        APIOperation("GET", "/metrics", "metrics", tag: "service", .open, "Read its metrics (Prometheus)")
            .answer(200, "The metrics.", "Text"),
    ]
}

extension APIOperation {
    /// With the app and the time of an overview.
    var overviewQuery: APIOperation {
        parameter(
            .query, "app", "The app, or * for all; a key for some apps names one.", #"{"type":"string"}"#
        )
        .parameter(
            .query, "minutes", "How far back; 60 unless given.",
            #"{"type":"integer","minimum":1,"maximum":2880}"#)
    }

    /// With the header that makes a repeat harmless.
    var idempotencyKey: APIOperation {
        parameter(
            .header, "Idempotency-Key",
            "A name of the request, of printable ASCII characters without spaces: a repeat within a day is "
                + "answered as the first one was.",
            #"{"type":"string","minLength":1,"maxLength":255,"pattern":"^[!-~]+$"}"#)
    }
}
