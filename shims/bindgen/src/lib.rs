//! Stands in for the package of the same name while `nauty-Traces-sys` is built.
//!
//! That package asks bindgen to derive declarations from nauty's headers, and bindgen needs libclang, which few machines
//! have. The declarations that we use are few and change rarely, so they are written by hand (`declarations.rs`), and
//! a C compiler is all that building needs. [`Builder`] takes every request of the build script and answers with them.

use std::path::Path;

/// Takes what the build script asks for, and ignores it.
#[derive(Default)]
pub struct Builder;

/// Tells cargo nothing: the build script names its files itself.
pub struct CargoCallbacks;

impl CargoCallbacks {
    /// The callbacks.
    #[allow(clippy::new_without_default)]
    pub fn new() -> CargoCallbacks {
        CargoCallbacks
    }
}

macro_rules! ignored {
    ($($request:ident($argument:ty))*) => {
        $(
            #[doc = "Ignored."]
            pub fn $request(self, _: $argument) -> Builder {
                self
            }
        )*
    };
}

impl Builder {
    ignored! {
        header(&str) parse_callbacks(Box<CargoCallbacks>) derive_eq(bool) derive_hash(bool) derive_ord(bool)
        no_partialeq(&str) allowlist_type(&str) allowlist_function(&str) allowlist_var(&str)
    }

    /// Ignored.
    pub fn header_contents(self, _: &str, _: &str) -> Builder {
        self
    }

    /// The declarations.
    pub fn generate(self) -> Result<Bindings, std::io::Error> {
        Ok(Bindings)
    }
}

/// The hand-written declarations.
pub struct Bindings;

impl Bindings {
    /// Writes them where the build script wants them.
    pub fn write_to_file(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        std::fs::write(path, include_str!("declarations.rs"))
    }
}
