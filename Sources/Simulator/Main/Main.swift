import SimulatorKit
import Terminal

/// `peal-simulator`: APNs and FCM doubles.
@main
struct SimulatorMain {
    static func main() { Console.end(SimulatorCommand.main()) }
}
