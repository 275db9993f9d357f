//! Counts of what happened in discovery and in setting up sessions.

/// Declares the counters, and how they are listed.
macro_rules! counters {
    ($($name:ident $doc:literal,)*) => {
        /// The counts.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Statistics {
            $(#[doc = $doc] pub $name: u64,)*
        }

        impl Statistics {
            /// A line each: name and count.
            pub fn unparse(&self) -> String {
                [$((stringify!($name), self.$name)),*].map(|(name, n)| format!("{name} {n}\n")).concat()
            }
        }
    };
}

counters! {
    padi "Requests for offers.",
    pado "Offers.",
    padr "Requests for sessions.",
    pads "Sessions given.",
    padt "Sessions ended by the subscriber's PADT.",
    bad_cookie "Requests for sessions without the right cookie.",
    no_service "Requests for a service that there is not.",
    no_room "Requests refused since there were too many sessions.",
    logins "Subscribers admitted.",
    bad_logins "Subscribers not admitted.",
    opened "Times that a session could carry IP packets.",
    lost "Sessions whose subscriber no longer answered.",
    ended "Sessions ended.",
}
