/* PolyBench doitgen: A[r][q] = A[r][q] C4 for every r and q. */
void doitgen(float C4[restrict S][P], float A[restrict R][Q][S]) {
    float total[P];
    for (int r = 0; r < R; r++)
        for (int q = 0; q < Q; q++) {
            for (int p = 0; p < P; p++) total[p] = 0;
            for (int p = 0; p < P; p++)
                for (int s = 0; s < S; s++) total[p] += A[r][q][s] * C4[s][p];
            for (int p = 0; p < P; p++) A[r][q][p] = total[p];
        }
}
