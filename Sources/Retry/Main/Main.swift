import RetryKit

@main
struct RetryMain {
    static func main() {}
}
