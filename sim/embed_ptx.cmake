# Writes OUT: a C++ file that holds the text of IN as `diogenes_kernels_ptx`, ended by a zero byte.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "#include \"kernels_ptx.h\"\n\nconst char diogenes_kernels_ptx[] = {\n${bytes}0x00};\n")
