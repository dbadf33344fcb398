import Core

/// What the fields say together: defaults, requirements and contradictions.
extension JobWalk {
    mutating func settle(_ job: inout Job) -> Bool {
        guard seen & JobField.app.bit != 0 else {
            return fail(.missingField, "app", "The job names no app; add \"app\" with the app's name.")
        }
        guard seen & JobField.to.bit != 0 else {
            return fail(
                .missingField, "to",
                "The job is for nobody; add \"to\" with a recipient, a token, a topic or all.")
        }
        if !job.flags.has(.typeGiven) { deriveType(&job) }
        guard settleType(job), settleSound(job), settlePriority(&job), settleTimes(job) else { return false }
        return settleTarget(job)
    }

    private func has(_ field: JobField) -> Bool { seen & field.bit != 0 }

    /// Text is an alert, a sealed message is encrypted, data alone is a background update, a counter alone a
    /// badge.
    private func deriveType(_ job: inout Job) {
        if job.hasText || job.payloadSpan.length > 0 || job.fcmSpan.length > 0 {
            job.type = job.messageSpan.length > 0 && !job.hasText ? .encrypted : .alert
        } else if job.messageSpan.length > 0 {
            job.type = .encrypted
        } else if job.dataCount > 0 {
            job.type = .background
        } else if job.flags.has(.hasUnread) {
            job.type = .badge
        }
    }

    private mutating func contradiction(_ field: String, _ sentence: String) -> Bool {
        fail(.contradiction, field, sentence)
    }

    private mutating func settleType(_ job: Job) -> Bool {
        if job.messageSpan.length > 0 {
            if job.hasText {
                return contradiction("message", "A job has either text or a sealed message; leave one out.")
            }
            if job.type != .encrypted {
                return contradiction("message", "A sealed message needs the type encrypted.")
            }
        }
        if job.tagSpan.length > 0, job.type != .encrypted {
            return contradiction("tag", "tag belongs to a sealed message; put it into data otherwise.")
        }
        if job.flags.has(.hidden), job.type != .alert || job.flags.has(.typeGiven) {
            return contradiction(
                "push.showNotification", "showNotification false needs an alert whose type isn't written out."
            )
        }
        switch job.type {
        case .alert: return settleAlert(job)
        case .background:
            if job.hasText || has(.sound) || has(.image) {
                return contradiction(
                    "type", "A background job shows nothing; leave out text, sound and image.")
            }
        case .encrypted:
            if job.messageSpan.length == 0 {
                return fail(.missingField, "message", "An encrypted job needs its sealed message.")
            }
        case .badge:
            if job.hasText || has(.sound) || has(.image) {
                return contradiction(
                    "type", "A badge job only sets the badge; leave out text, sound and image.")
            }
        case .liveactivity, .mdm:
            if job.payloadSpan.length == 0 {
                return fail(.missingField, "apns.payload", "This type needs its content in apns.payload.")
            }
        default: break
        }
        return true
    }

    private mutating func settleAlert(_ job: Job) -> Bool {
        guard job.hasText || job.payloadSpan.length > 0 || job.fcmSpan.length > 0 else {
            return fail(
                .missingField, "body",
                "The job has nothing to show; add a title, a body, a message, data or unread.")
        }
        return true
    }

    private mutating func settleSound(_ job: Job) -> Bool {
        guard job.flags.has(.mute), has(.sound) else { return true }
        return contradiction("sound", "The job names a sound and says not to play it; leave one out.")
    }

    private mutating func settlePriority(_ job: inout Job) -> Bool {
        let quiet = job.type == .background || job.flags.has(.hidden)
        if !job.flags.has(.priorityGiven) {
            job.priority = quiet ? .normal : job.type.defaultPriority
        } else if quiet, job.priority == .high {
            return contradiction("priority", "What shows nothing can't have priority high (10); use normal.")
        } else if job.type == .pushtotalk, job.priority != .high {
            return contradiction("priority", "A pushtotalk job has priority high; leave priority out.")
        } else if job.type == .liveactivity, job.priority == .low {
            return contradiction("priority", "A liveactivity job has priority high or normal.")
        }
        if quiet, let headers = job.apnsHeaders, let header = headers.member(APNsHeader.priority.name),
            let text = header.text, text.equals("10")
        {
            return contradiction(
                "apns.headers.apns-priority", "What shows nothing can't have priority 10; use 5.")
        }
        return true
    }

    private mutating func settleTimes(_ job: Job) -> Bool {
        if job.flags.has(.hasTTL), job.flags.has(.hasExpiresAt) {
            return contradiction("ttl", "ttl and expires_at say the same thing; leave one out.")
        }
        if job.flags.has(.hasSendAt), job.flags.has(.hasExpiresAt), job.expiresAtMs <= job.sendAtMs {
            return contradiction("expires_at", "The job expires before it is sent; move one of the times.")
        }
        if job.type == .pushtotalk, job.ttlSeconds > 0 || job.flags.has(.hasExpiresAt) {
            return contradiction("ttl", "A pushtotalk job isn't stored; leave out ttl and expires_at.")
        }
        return true
    }

    private mutating func settleTarget(_ job: Job) -> Bool {
        if job.target == .token {
            if job.flags.has(.hasUnread) || job.type == .badge {
                return contradiction("unread", "A counter belongs to a recipient; a token has none.")
            }
            if job.type.isAppleOnly, job.platform != .ios {
                return contradiction(
                    "type", "Only ios devices know this type; the token is for another platform.")
            }
        }
        return true
    }
}
