/// The parts of the API's description that operations refer to, as JSON.
enum APISchemas {
    static let info = #"""
        {"title":"Peal","version":"1",
         "description":"The HTTP front door of Peal: jobs, devices, preferences, topics, broadcasts, and the contracts of four kinds of client apps. Errors are problem documents (RFC 9457)."}
        """#

    static let tags = #"""
        [{"name":"jobs","description":"Notification jobs, one or many."},
         {"name":"recipients","description":"Devices, reads, preferences and topics of one recipient."},
         {"name":"broadcasts","description":"Jobs to a topic or to everybody."},
         {"name":"wallet alerts","description":"For apps with contract wallet_alerts."},
         {"name":"support chat","description":"For apps with contract support_chat."},
         {"name":"creators","description":"For apps with contract creator."},
         {"name":"wallet requests","description":"For apps with contract wallet_requests."},
         {"name":"credentials","description":"An app's provider credentials."},
         {"name":"operations","description":"The dashboard's overview, and the kill switch."},
         {"name":"service","description":"The gateway itself."}]
        """#

    static let security = #"""
        {"apiKey":{"type":"apiKey","in":"header","name":"X-Api-Key",
                   "description":"A program's key; it has apps and scopes."},
         "bearerKey":{"type":"http","scheme":"bearer","description":"The same key as a bearer token."},
         "userToken":{"type":"http","scheme":"bearer","bearerFormat":"JWT",
                      "description":"A user's token. Its subject is the recipient."},
         "clientKey":{"type":"apiKey","in":"header","name":"X-Dialect-Client-Key",
                      "description":"Says which app a client belongs to."},
         "dialectKey":{"type":"apiKey","in":"header","name":"x-dialect-api-key",
                       "description":"A program's key with the scope send for the appId of the path."},
         "relaySignature":{"type":"apiKey","in":"header","name":"X-Ed25519-Signature",
                           "description":"A relay's signature; X-Ed25519-Timestamp goes with it."}}
        """#

    static let parameters: [(name: String, json: String)] = [
        path("app", "The app's name.", #""pattern":"^[A-Za-z0-9._-]{1,64}$""#),
        path("recipient", "The recipient, percent-encoded.", #""minLength":1,"maxLength":256"#),
        path("device", "The device's id.", #""pattern":"^[A-Za-z0-9._-]{1,64}$""#),
        path("topic", "The topic, percent-encoded.", #""minLength":1,"maxLength":256"#),
        path("broadcast", "The broadcast's id.", #""minLength":1,"maxLength":128"#),
        path("conversation", "The conversation's id.", #""minLength":1,"maxLength":256"#),
        path("id", "The id.", #""minLength":1,"maxLength":256"#),
        path("kind", "The kind of credential.", #""minLength":1,"maxLength":64"#),
        path("appId", "Who sends: the app or one of its app_ids.", #""minLength":1,"maxLength":64"#),
        path("project", "The app's name.", #""pattern":"^[A-Za-z0-9._-]{1,64}$""#),
    ]

    private static func path(_ name: String, _ text: String, _ rule: String) -> (name: String, json: String) {
        (
            name,
            #"{"in":"path","name":"\#(name)","required":true,"description":"\#(text)","#
                + #""schema":{"type":"string",\#(rule)}}"#
        )
    }

    /// Status, what it means, and whether it says when to come again.
    static let problems: [(status: Int, text: String, retries: Bool)] = [
        (400, "The request can't be used; `field` and `detail` say what to fix.", false),
        (401, "Nobody said who asks, or it can't be believed.", false),
        (403, "The key or token is known, but may not do this.", false),
        (404, "There is nothing of this name.", false),
        (409, "It contradicts what is there, or the same request is still under way.", true),
        (413, "The body is larger than `gateway.body_max`.", false),
        (415, "The body is of a kind that isn't taken here.", false),
        (422, "The idempotency key was used with another body.", false),
        (429, "Too many requests of this key or address.", true),
        (431, "The headers are too large.", false),
        (503, "Kafka or Redis is behind or away.", true),
    ]

    /// The schemas by their names.
    static let all: [(name: String, json: String)] =
        general + jobs + recipients + contracts + credentials + overview

    private static let general: [(name: String, json: String)] = [
        (
            "Problem",
            #"""
            {"type":"object","description":"RFC 9457.",
             "required":["type","title","status","request_id"],
             "properties":{
               "type":{"type":"string","pattern":"^urn:peal:problem:"},
               "title":{"type":"string"},
               "status":{"type":"integer","minimum":400,"maximum":599},
               "detail":{"type":"string","description":"What to fix, as a sentence."},
               "field":{"type":"string","description":"The member or parameter that is wrong."},
               "index":{"type":"integer","minimum":0,"description":"Which one of a batch, from 0."},
               "request_id":{"type":"string"}}}
            """#
        ),
        ("Empty", #"{"type":"object"}"#),
        ("Document", #"{"type":"object"}"#),
        ("Text", #"{"type":"string"}"#),
        ("Removed", #"{"type":"object","required":["removed"],"properties":{"removed":{"type":"boolean"}}}"#),
    ]

    private static let credentials: [(name: String, json: String)] = [
        (
            "CredentialUpload",
            #"{"type":"object","description":"What the kind needs; see docs/configuration.md."}"#
        ),
        ("Credential", #"{"type":"object","description":"Never the credential itself."}"#),
        (
            "Credentials",
            #"{"type":"object","properties":{"credentials":{"type":"array","items":{"type":"object"}}}}"#
        ),
    ]
}
