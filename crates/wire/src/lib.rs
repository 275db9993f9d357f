//! Header views and checksums of the protocols that elements read and write.
