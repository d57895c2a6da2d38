// The least that standalone native tests need: a check that counts, says what failed, and fails the program.
#pragma once

#include <cstdio>
#include <string>

namespace headstart {

class Checks {
 public:
  void operator()(bool good, const std::string& what) {
    ++made_;
    if (good) return;
    if (++failed_ <= 20) std::fprintf(stderr, "FAILED: %s\n", what.c_str());
  }
  // To be returned from main.
  int done(const char* program) const {
    std::printf("%s: %ld checks, %ld failed\n", program, made_, failed_);
    return failed_ == 0 && made_ > 0 ? 0 : 1;
  }

 private:
  long made_ = 0, failed_ = 0;
};

}  // namespace headstart
