
<!DOCTYPE html>
<html><body>Sign in</body></html>
