pub use super::linux::BbrLinux as BbrPicoquic;
