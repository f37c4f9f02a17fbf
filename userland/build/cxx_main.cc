// Stands between the start file and main in C++ programs: an exception that nobody catches ends in std::terminate, as on
// Linux, where the unwinder would find that out.
extern "C" int __real___main_void();
extern "C" int __wrap___main_void() noexcept { return __real___main_void(); }
