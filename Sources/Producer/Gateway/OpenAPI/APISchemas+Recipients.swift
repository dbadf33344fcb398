/// Devices, reads, preferences and topics.
extension APISchemas {
    static let recipients: [(name: String, json: String)] = [
        (
            "DeviceRegistration",
            #"""
            {"type":"object","required":["platform","token"],"additionalProperties":false,
             "properties":{
               "platform":{"enum":["ios","android","web"]},
               "token":{"type":"string","minLength":1,"maxLength":4096},
               "environment":{"enum":["production","sandbox"],
                 "description":"ios only. Left out, the app's usual one; a worker finds out when it is the other."},
               "kind":{"enum":["alert","voip","live_activity","push_to_talk","file_provider","complication",
                 "location","widgets"],"default":"alert","description":"ios only."},
               "locale":{"type":"string","minLength":1,"maxLength":35},
               "time_zone":{"type":"string","minLength":1,"maxLength":64},
               "app_version":{"type":"string","minLength":1,"maxLength":64},
               "alerts_allowed":{"type":"boolean","default":true,
                 "description":"false: the device's owner forbade alerts in its settings."}}}
            """#
        ),
        (
            "Device",
            #"""
            {"type":"object","required":["device","platform","token","alerts_allowed","registered_at_ms"],
             "properties":{
               "device":{"type":"string"},"platform":{"enum":["ios","android","web"]},
               "token":{"type":"string","maxLength":8,"description":"The first eight characters."},
               "environment":{"enum":["production","sandbox"]},"kind":{"type":"string"},
               "alerts_allowed":{"type":"boolean"},"locale":{"type":"string"},
               "time_zone":{"type":"string"},"app_version":{"type":"string"},
               "registered_at_ms":{"type":"integer"}}}
            """#
        ),
        (
            "Devices",
            #"""
            {"type":"object","required":["devices"],
             "properties":{"devices":{"type":"array","items":{"$ref":"#/components/schemas/Device"}}}}
            """#
        ),
        (
            "Read",
            #"""
            {"type":"object","additionalProperties":false,
             "description":"Exactly one of set, add and clear.",
             "oneOf":[{"required":["set"]},{"required":["add"]},{"required":["clear"]}],
             "properties":{
               "set":{"type":"integer","minimum":0,"maximum":1000000000},
               "add":{"type":"integer","minimum":-1000000000,"maximum":1000000000},
               "clear":{"const":true},
               "thread":{"type":"string","minLength":1,"maxLength":256,
                 "description":"It is about this conversation's own counter; with set or clear."},
               "device":{"type":"string","pattern":"^[A-Za-z0-9._-]{1,64}$",
                 "description":"The device that read; it isn't told."},
               "as_of_ms":{"type":"integer","minimum":0,
                 "description":"The client's time of a set; an older one than the last is ignored."}}}
            """#
        ),
        (
            "Unread",
            #"{"type":"object","required":["unread"],"properties":{"unread":{"type":"integer","minimum":0}}}"#
        ),
        (
            "UnreadCounts",
            #"""
            {"type":"object","required":["unread","threads"],
             "properties":{"unread":{"type":"integer","minimum":0},
               "threads":{"type":"object","additionalProperties":{"type":"integer","minimum":0},
                 "description":"By conversation, for apps with unread.by_thread."}}}
            """#
        ),
        (
            "Preferences",
            #"""
            {"type":"object","additionalProperties":false,
             "properties":{
               "push":{"type":"boolean","default":true,"description":"false: everything is muted."},
               "muted_until_ms":{"type":"integer","minimum":0,
                 "description":"Everything is muted until then; milliseconds since 1970."},
               "muted_kinds":{"$ref":"#/components/schemas/Names"},
               "muted_topics":{"$ref":"#/components/schemas/Names"},
               "muted_threads":{"$ref":"#/components/schemas/Names"},
               "quiet_hours":{"type":"object","required":["from","to"],"additionalProperties":false,
                 "properties":{
                   "from":{"type":"string","pattern":"^([01][0-9]|2[0-3]):[0-5][0-9]$"},
                   "to":{"type":"string","pattern":"^([01][0-9]|2[0-3]):[0-5][0-9]$"},
                   "time_zone":{"type":"string","minLength":1,"maxLength":64,
                     "description":"An IANA name; left out, that of the device."}}},
               "locale":{"type":"string","minLength":1,"maxLength":35}}}
            """#
        ),
        (
            "Names",
            #"""
            {"type":"array","maxItems":200,
             "items":{"type":"string","minLength":1,"maxLength":256}}
            """#
        ),
        (
            "Topics",
            #"""
            {"type":"object","required":["topics"],
             "properties":{"topics":{"type":"array","items":{"type":"string"}}}}
            """#
        ),
        (
            "Topic",
            #"""
            {"type":"object","required":["topic","subscribed"],
             "properties":{"topic":{"type":"string"},"subscribed":{"type":"boolean"}}}
            """#
        ),
    ]
}
