/* PolyBench fdtd-2d: electric and magnetic fields that drive each other. */
void fdtd_2d(float fict[restrict S], float ex[restrict X][Y], float ey[restrict X][Y],
             float hz[restrict X][Y]) {
    for (int t = 0; t < S; t++) {
        for (int j = 0; j < Y; j++) ey[0][j] = fict[t];
        for (int i = 1; i < X; i++)
            for (int j = 0; j < Y; j++) ey[i][j] = ey[i][j] - 0.5f * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < X; i++)
            for (int j = 1; j < Y; j++) ex[i][j] -= 0.5f * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < X - 1; i++)
            for (int j = 0; j < Y - 1; j++)
                hz[i][j] -= 0.7f * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}
