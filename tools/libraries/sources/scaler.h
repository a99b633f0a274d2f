// A class with a vtable, defined in scaler.cc.
class Scaler {
 public:
  virtual ~Scaler();
  virtual float scale(float x) const;
};
