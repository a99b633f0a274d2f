version https://git-lfs.github.com/spec/v1
oid sha256:00
size 3
