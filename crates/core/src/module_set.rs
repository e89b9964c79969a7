//! A set of modules, with its text form: `diffusion,te`.

use std::fmt;
use std::str::FromStr;

use atelier_language::tr;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::module::Module;
use crate::module_names::{ENCODERS, modules_named};

/// A set of modules.
///
/// In files `true` is the diffusion module alone, as it was when no other could be in it; `false` is
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModuleSet(u16);

/// A name that is no module's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", tr!("core-there-is-no-module", name = format!("{_0:?}")))]
pub struct UnknownModule(pub String);

impl ModuleSet {
    /// No module.
    pub const NONE: Self = Self(0);
    /// The diffusion module alone.
    pub const DIFFUSION: Self = Self(1 << Module::Diffusion as u16);
    /// The VAE alone.
    pub const VAE: Self = Self(1 << Module::Vae as u16);

    /// True for a module of the set.
    #[must_use]
    pub const fn contains(self, module: Module) -> bool {
        self.0 & (1 << module as u16) != 0
    }

    /// True for the set of no modules.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True where a budget lets the engine cut the graph of this module while those of the set are
    /// streamed. Cuts in a VAE cost more memory than weights save at most sizes, so they are made only
    /// where they are asked for.
    #[must_use]
    pub const fn cuts(self, module: Module) -> bool {
        !matches!(module, Module::Vae) || self.contains(module)
    }

    /// Adds a module.
    pub const fn insert(&mut self, module: Module) {
        self.0 |= 1 << module as u16;
    }

    /// Removes a module.
    pub const fn remove(&mut self, module: Module) {
        self.0 &= !(1 << module as u16);
    }

    /// Its modules, in the order of [`Module::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Module> {
        Module::ALL.into_iter().filter(move |module| self.contains(*module))
    }

    /// Bit n is the module with number n.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }
}

impl FromIterator<Module> for ModuleSet {
    fn from_iter<T: IntoIterator<Item = Module>>(modules: T) -> Self {
        let mut set = Self::default();
        for module in modules {
            set.insert(module);
        }
        set
    }
}

impl FromStr for ModuleSet {
    type Err = UnknownModule;

    fn from_str(text: &str) -> Result<Self, UnknownModule> {
        let mut set = Self::default();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let modules = modules_named(name).ok_or_else(|| UnknownModule(name.to_owned()))?;
            for module in modules {
                set.insert(*module);
            }
        }
        Ok(set)
    }
}

impl fmt::Display for ModuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_all_encoders = Module::ENCODERS.into_iter().all(|module| self.contains(module));
        let name = |module: Module| if has_all_encoders && module.is_encoder() { ENCODERS } else { module.key() };
        let mut names: Vec<&str> = self.iter().map(name).collect();
        names.dedup();
        f.write_str(&names.join(","))
    }
}

impl Serialize for ModuleSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_empty() || *self == Self::DIFFUSION { serializer.serialize_bool(!self.is_empty()) } else { serializer.collect_str(self) }
    }
}

impl<'de> Deserialize<'de> for ModuleSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Switch(bool),
            Names(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Switch(is_on) => Ok(if is_on { Self::DIFFUSION } else { Self::default() }),
            Form::Names(names) => names.parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_reads_back_as_it_is_written() {
        for (text, written) in [
            ("", ""),
            ("diffusion", "diffusion"),
            ("vae, TE ,unet", "diffusion,te,vae"),
            ("te.t5,te.clip_l", "te.clip_l,te.t5"),
            ("te.t5,te", "te"),
        ] {
            let set: ModuleSet = text.parse().unwrap();
            assert_eq!(set.to_string(), written);
            assert_eq!(written.parse(), Ok(set));
            let json = serde_json::to_string(&set).unwrap();
            assert_eq!(serde_json::from_str::<ModuleSet>(&json).unwrap(), set, "{json}");
        }
        assert_eq!("diffusion,sampler".parse::<ModuleSet>(), Err(UnknownModule("sampler".into())));
    }

    #[test]
    fn files_of_earlier_versions_have_a_switch_for_the_diffusion_module() {
        let read = |json| serde_json::from_str::<ModuleSet>(json).ok();
        assert_eq!((read("true"), read("false")), (Some(ModuleSet::DIFFUSION), Some(ModuleSet::default())));
        assert_eq!((serde_json::to_string(&ModuleSet::DIFFUSION).unwrap().as_str(), read("7")), ("true", None));
    }
}
