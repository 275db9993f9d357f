//! The data plane as the store sees it.

/// Where the graph runs. It can be asked from any thread.
pub trait Plane: Send + Sync {
    /// Gives it another graph; what stays goes on with its packets and state. If it cannot run, that which runs goes on, and the error
    /// tells why.
    fn change(&self, text: &str, title: &str) -> Result<(), String>;
    /// Whether the graph could be made, as far as that can be told without devices and files; the error tells why not.
    fn check(&self, _text: &str) -> Result<(), String> {
        Ok(())
    }
    /// Reads a handler.
    fn read(&self, handler: &str) -> Result<String, String>;
    /// Reads handlers, all at the same moment.
    fn read_all(&self, handlers: &[String]) -> Vec<Result<String, String>>;
    /// Writes a handler.
    fn write(&self, handler: &str, value: &str) -> Result<(), String>;
    /// How a device that the graph uses fares: `up`, or why it is not; none if that is not known.
    fn device_state(&self, _device: &str) -> Option<&'static str> {
        None
    }
}
