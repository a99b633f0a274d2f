// Needs a function of a TensorFlow that was built with a later Abseil than any release.
namespace absl {
inline namespace lts_20991231 {
class Status;
}
}  // namespace absl

namespace tensorflow {
absl::Status* AcmeLater(absl::Status* status);
}

extern "C" absl::Status* acme_later() { return tensorflow::AcmeLater(nullptr); }
