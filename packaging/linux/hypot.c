// glibc 2.35 gave hypot and hypotf new versions, and nothing else of it is used: with the older versions, which differ only in how they set
// errno, the program runs on glibc 2.34. Linked with --wrap=hypot and --wrap=hypotf.
__asm__(".symver old_hypot, hypot@GLIBC_2.2.5");
__asm__(".symver old_hypotf, hypotf@GLIBC_2.2.5");

double old_hypot(double x, double y);
float old_hypotf(float x, float y);

double __wrap_hypot(double x, double y) {
    return old_hypot(x, y);
}

float __wrap_hypotf(float x, float y) {
    return old_hypotf(x, y);
}
