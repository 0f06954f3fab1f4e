/* PolyBench 2mm: D = alpha A B C + beta D. */
void two_mm(float A[restrict P][Q], float B[restrict Q][R], float C[restrict R][S],
            float D[restrict P][S]) {
    static float AB[P][R];
    for (int i = 0; i < P; i++)
        for (int j = 0; j < R; j++) {
            AB[i][j] = 0;
            for (int k = 0; k < Q; k++) AB[i][j] += 1.5f * A[i][k] * B[k][j];
        }
    for (int i = 0; i < P; i++)
        for (int j = 0; j < S; j++) {
            D[i][j] *= 1.2f;
            for (int k = 0; k < R; k++) D[i][j] += AB[i][k] * C[k][j];
        }
}
