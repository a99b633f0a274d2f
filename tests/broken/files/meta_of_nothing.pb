JabcbI
"serve>

x