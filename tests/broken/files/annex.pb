/annex/objects/SHA256E-s3--00.pb
