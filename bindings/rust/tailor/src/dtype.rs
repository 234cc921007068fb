//! Element types of tensors.

use std::fmt;

use crate::sys;

/// An element type; the numbers are those of `tailor/runtime.h`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DType(
    /// The number.
    pub i32,
);

macro_rules! dtypes {
    ($($name:ident $constant:ident $text:literal),* $(,)?) => {
        impl DType {
            $(#[doc = concat!("`", $text, "`.")] pub const $name: DType = DType(sys::$constant);)*

            fn name(self) -> Option<&'static str> {
                match self.0 {
                    $(sys::$constant => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}
dtypes!(
    BOOL TAILOR_BOOL "bool", I8 TAILOR_I8 "i8", I16 TAILOR_I16 "i16", I32 TAILOR_I32 "i32", I64 TAILOR_I64 "i64",
    U8 TAILOR_U8 "u8", U16 TAILOR_U16 "u16", U32 TAILOR_U32 "u32", U64 TAILOR_U64 "u64", F16 TAILOR_F16 "f16",
    BF16 TAILOR_BF16 "bf16", F32 TAILOR_F32 "f32", F64 TAILOR_F64 "f64",
);

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "element type {}", self.0),
        }
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A bool as tensors hold it: 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bool(
    /// 0 or 1.
    pub u8,
);

/// The bits of a half-precision number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(
    /// IEEE 754 binary16.
    pub u16,
);

/// The bits of a bfloat16: the upper half of an `f32`'s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(
    /// The upper half of an `f32`'s bits.
    pub u16,
);

/// Rust types that are element types of tensors.
///
/// # Safety
/// `DTYPE` must be a type with the same size and alignment, and no bit pattern may be invalid.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The element type of tensors of this type.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),*) => { $(unsafe impl Element for $type { const DTYPE: DType = DType::$dtype; })* };
}
elements!(Bool => BOOL, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
          F16 => F16, Bf16 => BF16, f32 => F32, f64 => F64);
