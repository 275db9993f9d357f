//! Typed fields at fixed offsets, from which every header view is made.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A value that stands in a header in network byte order.
pub(crate) trait Field: Sized {
    /// Reads the value that starts at `at`; the view's constructor proved that it is there.
    fn load(bytes: &[u8], at: usize) -> Self;
    /// Writes the value that starts at `at`.
    fn store(self, bytes: &mut [u8], at: usize);
}

impl<const N: usize> Field for [u8; N] {
    #[inline]
    fn load(bytes: &[u8], at: usize) -> Self {
        bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    #[inline]
    fn store(self, bytes: &mut [u8], at: usize) {
        if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            *place = self;
        }
    }
}

/// Makes a [`Field`] of a type that converts to and from its bytes in network order.
macro_rules! field_from_bytes {
    ($($ty:ty, $load:expr, $store:expr;)*) => { $(
        impl Field for $ty {
            #[inline]
            fn load(bytes: &[u8], at: usize) -> Self {
                $load(<[u8; size_of::<$ty>()]>::load(bytes, at))
            }

            #[inline]
            fn store(self, bytes: &mut [u8], at: usize) {
                $store(self).store(bytes, at);
            }
        }
    )* };
}

field_from_bytes! {
    u8, u8::from_be_bytes, u8::to_be_bytes;
    u16, u16::from_be_bytes, u16::to_be_bytes;
    u32, u32::from_be_bytes, u32::to_be_bytes;
    Ipv4Addr, Ipv4Addr::from, |address: Ipv4Addr| address.octets();
    Ipv6Addr, Ipv6Addr::from, |address: Ipv6Addr| address.octets();
}

/// Writes the getters and setters of a view: `getter, setter: type at offset "what it is"`.
macro_rules! fields {
    ($view:ident { $( $get:ident, $set:ident: $ty:ty, $at:literal, $doc:literal; )* }) => {
        impl<B: AsRef<[u8]>> $view<B> {
            $(
                #[doc = $doc]
                #[inline]
                pub fn $get(&self) -> $ty {
                    $crate::field::Field::load(self.0.as_ref(), $at)
                }
            )*

            /// All bytes that the view was made of.
            #[inline]
            pub fn as_bytes(&self) -> &[u8] {
                self.0.as_ref()
            }

            /// Gives the wrapped bytes back.
            #[inline]
            pub fn into_inner(self) -> B {
                self.0
            }
        }

        impl<B: AsRef<[u8]> + AsMut<[u8]>> $view<B> {
            $(
                #[doc = concat!("Sets: ", $doc)]
                #[inline]
                pub fn $set(&mut self, value: $ty) {
                    $crate::field::Field::store(value, self.0.as_mut(), $at);
                }
            )*
        }
    };
}
