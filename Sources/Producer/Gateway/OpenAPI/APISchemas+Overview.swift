/// The schemas of the overview and of the kill switch.
extension APISchemas {
    static let overview: [(name: String, json: String)] = [
        (
            "Overview",
            #"""
            {"type":"object","description":"How the pipeline stands. Times are ms since 1970.",
             "required":["now_ms","app","minutes","step","series","sum","totals","rate","problems","lanes",
                         "retry","apps","campaigns","broadcasts","pods","orders","notes"],
             "properties":{
               "now_ms":{"type":"integer","description":"Redis' time when this was read."},
               "app":{"type":"string","description":"The app that it is about; * for all."},
               "minutes":{"type":"integer","minimum":1,"maximum":2880},
               "step":{"type":"integer","description":"The minutes that one point of the series adds up."},
               "series":{"type":"object","required":["start_ms"],
                 "properties":{"start_ms":{"type":"integer","description":"When the first point begins."}},
                 "additionalProperties":{"type":"array","items":{"type":["number","null"]}}},
               "sum":{"$ref":"#/components/schemas/OverviewCounts"},
               "totals":{"$ref":"#/components/schemas/OverviewCounts"},
               "rate":{"type":"number","description":"Deliveries that ended a second, lately."},
               "problems":{"type":"array","items":{"type":"object",
                 "required":["level","code","about","whom","sentence","since_ms","lever"],
                 "properties":{"level":{"type":"string","enum":["bad","warn","note"]},
                   "code":{"type":"string","description":"The cause, as alerts name it."},
                   "about":{"type":"string","description":"What kind of thing whom names."},
                   "whom":{"type":"string"},"sentence":{"type":"string"},
                   "since_ms":{"type":["integer","null"]},
                   "lever":{"type":"string","description":"A command to go on with."}}}},
               "lanes":{"type":"array","items":{"type":"object"}},
               "retry":{"type":"object"},
               "apps":{"type":"array","items":{"type":"object"}},
               "campaigns":{"type":"array","items":{"type":"object"}},
               "broadcasts":{"type":"array","items":{"type":"object"}},
               "pods":{"type":"array","items":{"type":"object"}},
               "orders":{"type":"array","items":{"type":"object"}},
               "orders_in_all":{"type":"integer"},
               "notes":{"type":"array","items":{"type":"string"},
                 "description":"What was left out or could not be read."}}}
            """#
        ),
        (
            "OverviewCounts",
            #"""
            {"type":"object",
             "description":"The live counters, by their names in Redis; see docs/redis-keys.md.",
             "additionalProperties":true}
            """#
        ),
        (
            "OverviewEvents",
            #"""
            {"type":"string",
             "description":"Server-sent events: access, overview (data is an Overview), failure."}
            """#
        ),
        (
            "ControlOrder",
            #"""
            {"type":"object","required":["action"],"additionalProperties":false,
             "description":"One of app, provider (of one app or of all), campaign with app, or job with app.",
             "properties":{
               "action":{"type":"string","enum":["pause","resume","cancel"],
                 "description":"Only a campaign or a job can be cancelled."},
               "app":{"type":"string","pattern":"^[A-Za-z0-9._-]{1,64}$"},
               "provider":{"type":"string","enum":["apns","fcm","web_push"]},
               "campaign":{"type":"string","minLength":1,"maxLength":128},
               "job":{"type":"string","minLength":1,"maxLength":128},
               "reason":{"type":"string","maxLength":256},
               "for_seconds":{"type":"integer","minimum":1,"maximum":31622400,
                 "description":"When it ends by itself; until it is resumed otherwise."}}}
            """#
        ),
        (
            "ControlAnswer",
            #"""
            {"type":"object","required":["subject","action","changed","version"],
             "properties":{
               "subject":{"type":"string","description":"The field of peal:control."},
               "action":{"type":"string","enum":["pause","resume","cancel"]},
               "changed":{"type":"boolean","description":"False when there was nothing to resume."},
               "version":{"type":["integer","null"],
                 "description":"The version of peal:control that workers obey from then on."}}}
            """#
        ),
    ]
}
